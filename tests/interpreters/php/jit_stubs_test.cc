// The functions at the begin of the memory of PHP's JIT, over code as 8.2 makes it.
#include "interpreters/php/jit_stubs.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace stackray::test {
namespace {

constexpr uint16_t kLoopWords = 20, kRbpBits = 2 << CODE_RBP_SHIFT;
constexpr uint16_t kRule = CODE_BASE_RSP << CODE_BASE_SHIFT | kRbpBits | kLoopWords;

// nop up to a multiple of 16.
void Align(std::vector<uint8_t>* code) { code->resize((code->size() + 15) & ~size_t{15}, 0x90); }

void Add(std::vector<uint8_t>* code, const std::vector<uint8_t>& bytes) {
  code->insert(code->end(), bytes.begin(), bytes.end());
}

// What the JIT's memory begins with: code of the loop; a called function with a part behind its
// return; the way out of a trace.
struct Code {
  Code() {
    Add(&bytes, {0x4d, 0x89, 0x3e});  // mov %r15,(%r14)
    Add(&bytes, {0x41, 0xff, 0x27});  // jmp *(%r15)
    Align(&bytes);
    called = static_cast<uint32_t>(bytes.size());
    Add(&bytes, {0x48, 0x83, 0xec, 0x08});              // sub $8,%rsp
    Add(&bytes, {0x80, 0x7f, 0x08, 0x0a, 0x75, 0x05});  // cmpb $10,8(%rdi); jne
    Add(&bytes, {0x48, 0x83, 0xc4, 0x08, 0xc3});        // add $8,%rsp; ret
    cold = static_cast<uint32_t>(bytes.size());
    Add(&bytes, {0x48, 0x89, 0x04, 0x24, 0xff, 0xd0, 0xeb,
                 0xf3});  // mov %rax,(%rsp); call *%rax; jmp to the add
    called_end = static_cast<uint32_t>(bytes.size());
    Align(&bytes);
    exit = static_cast<uint32_t>(bytes.size());
    Add(&bytes, {0x48, 0x81, 0xec, 0xf8, 0x00, 0x00, 0x00});  // sub $0xf8,%rsp
    Add(&bytes, {0x48, 0x89, 0xe6, 0xff, 0xd0});              // mov %rsp,%rsi; call *%rax
    Add(&bytes, {0x48, 0x81, 0xc4, 0x00, 0x01, 0x00, 0x00});  // add $0x100,%rsp
    exit_end = static_cast<uint32_t>(bytes.size());
    Add(&bytes, {0x41, 0xff, 0x27});  // jmp *(%r15)
    Align(&bytes);
  }
  std::vector<uint8_t> bytes;
  uint32_t called = 0, cold = 0, called_end = 0, exit = 0, exit_end = 0;
};

uint16_t CodeAt(const std::vector<cfi::PageRow>& rows, uint32_t offset) {
  uint16_t code = 0;
  for (const cfi::PageRow& row : rows)
    if (row.offset <= offset) code = row.code;
  return code;
}

TEST(JitStubs, ACalledFunctionHasAFrameOfItsOwn) {
  const Code code;
  const JitStubs stubs = FindJitStubs(code.bytes, kRule);
  EXPECT_EQ(CodeAt(stubs.rows, 0), kRule);
  EXPECT_EQ(CodeAt(stubs.rows, code.called - 1), kRule);
  EXPECT_EQ(CodeAt(stubs.rows, code.called), 1)
      << "right behind the call: the return address at rsp";
  EXPECT_EQ(CodeAt(stubs.rows, code.called + 4), 2);
  EXPECT_EQ(CodeAt(stubs.rows, code.cold - 1), 1) << "the ret";
  EXPECT_EQ(CodeAt(stubs.rows, code.cold + 6), 2) << "behind its call";
  EXPECT_EQ(CodeAt(stubs.rows, code.called_end), kRule);
  ASSERT_EQ(stubs.called.size(), 1u);
  EXPECT_EQ(stubs.called[0], std::make_pair(code.called, code.called_end));
}

TEST(JitStubs, TheWayOutOfATraceIsTheLoopsFrameFurtherDown) {
  const Code code;
  const JitStubs stubs = FindJitStubs(code.bytes, kRule);
  EXPECT_EQ(CodeAt(stubs.rows, code.exit), kRule + 1) << "with the exit's number on the stack";
  EXPECT_EQ(CodeAt(stubs.rows, code.exit + 7), kRule + 0x100 / 8);
  EXPECT_EQ(CodeAt(stubs.rows, code.exit + 12), kRule + 0x100 / 8) << "behind its call";
  EXPECT_EQ(CodeAt(stubs.rows, code.exit_end), kRule);
}

TEST(JitStubs, WhatDoesNotComeBackToItsHeightIsNone) {
  Code code;
  code.bytes[code.cold - 2] = 0x10;   // add $16,%rsp
  code.bytes[code.exit_end - 3] = 2;  // add $0x200,%rsp
  const JitStubs stubs = FindJitStubs(code.bytes, kRule);
  EXPECT_EQ(stubs.rows.size(), 1u);
  EXPECT_TRUE(stubs.called.empty());
}

TEST(JitStubs, AnotherRuleHoldsForAll) {
  const Code code;
  constexpr uint16_t kOfRbp = CODE_BASE_RBP << CODE_BASE_SHIFT | 2;
  const JitStubs stubs = FindJitStubs(code.bytes, kOfRbp);
  ASSERT_EQ(stubs.rows.size(), 1u);
  EXPECT_EQ(stubs.rows[0].code, kOfRbp);
}

TEST(JitStubs, AnyBytesAreAnswered) {
  EXPECT_EQ(FindJitStubs({}, kRule).rows.size(), 1u);
  const Code whole;
  for (size_t size = 0; size < whole.bytes.size(); ++size)
    FindJitStubs(std::span(whole.bytes).first(size), kRule);
  std::mt19937 random(20260101);
  for (int round = 0; round < 2000; ++round) {
    Code code;
    for (int i = 0; i < 4; ++i)
      code.bytes[random() % code.bytes.size()] = static_cast<uint8_t>(random());
    const JitStubs stubs = FindJitStubs(code.bytes, kRule);
    for (size_t i = 1; i < stubs.rows.size(); ++i)
      ASSERT_LT(stubs.rows[i - 1].offset, stubs.rows[i].offset);
    for (const auto& [begin, end] : stubs.called) ASSERT_LE(end, code.bytes.size());
  }
}

}  // namespace
}  // namespace stackray::test
