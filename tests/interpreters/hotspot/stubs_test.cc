// Rows of stubs from their instructions, and the list that the JVM has of them.
#include "interpreters/hotspot/stubs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/interpreters/fake_memory.h"

namespace stackray::hotspot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr uint64_t kBegin = 0x10000;
constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);

constexpr u16 ByRsp(uint32_t words, uint32_t saved = 0) {
  return static_cast<u16>(saved << CODE_RBP_SHIFT | words);
}
constexpr u16 ByRbp(uint32_t words, uint32_t saved) {
  return static_cast<u16>(CODE_BASE_RBP << CODE_BASE_SHIFT | saved << CODE_RBP_SHIFT | words);
}

std::vector<cfi::CodeRows> RowsOf(const std::vector<uint8_t>& code,
                                  std::initializer_list<uint32_t> begins = {0}) {
  std::vector<Stub> stubs;
  for (const uint32_t begin : begins) {
    if (!stubs.empty()) stubs.back().end = kBegin + begin;
    stubs.push_back({.begin = kBegin + begin, .end = kBegin + code.size(), .name = "stub"});
  }
  return RowsOfStubs(stubs, code);
}

// Of one stub: offsets and codes.
std::vector<std::pair<uint32_t, u16>> Row(const std::vector<uint8_t>& code) {
  std::vector<std::pair<uint32_t, u16>> pairs;
  for (const cfi::CodeRows& rows : RowsOf(code))
    for (const cfi::CodeRows::Row& row : rows.rows) pairs.emplace_back(row.offset, row.code);
  return pairs;
}

TEST(HotSpotStubs, AFrameRecordIsFollowedFromItsPushToItsEnd) {
  EXPECT_THAT(Row({0x55,                    // push %rbp
                   0x48, 0x89, 0xe5,        // mov %rsp, %rbp
                   0x48, 0x83, 0xec, 0x40,  // sub $64, %rsp
                   0x90, 0xc9, 0xc3}),      // nop, leave, ret
              ElementsAre(Pair(0, ByRsp(1)), Pair(1, ByRsp(2, 2)), Pair(4, ByRbp(2, 2)),
                          Pair(10, ByRsp(1))));
}

TEST(HotSpotStubs, PushedWordsAreCounted) {
  EXPECT_THAT(
      Row({0x53, 0x41, 0x54,        // push %rbx, push %r12
           0x48, 0x83, 0xec, 0x20,  // sub $32, %rsp
           0x48, 0x83, 0xc4, 0x20,  // add $32, %rsp
           0x41, 0x5c, 0x5b, 0xc3}),
      ElementsAre(Pair(0, ByRsp(1)), Pair(1, ByRsp(2)), Pair(3, ByRsp(3)), Pair(7, ByRsp(7)),
                  Pair(11, ByRsp(3)), Pair(13, ByRsp(2)), Pair(14, ByRsp(1))));
}

TEST(HotSpotStubs, WhatIsReachedInTwoWaysThatDifferHasNoRow) {
  EXPECT_THAT(Row({0x31, 0xc0, 0x74, 0x01,  // xor %eax, %eax; je behind the push
                   0x50, 0x90, 0xc3}),      // push %rax, nop, ret
              ElementsAre(Pair(0, ByRsp(1)), Pair(5, kNone)));
}

TEST(HotSpotStubs, ALoopKeepsItsFrame) {
  EXPECT_THAT(Row({0x53, 0x90, 0x75, 0xfd, 0x5b, 0xc3}),  // push; nop; jne to the nop; pop; ret
              ElementsAre(Pair(0, ByRsp(1)), Pair(1, ByRsp(2)), Pair(5, ByRsp(1))));
}

TEST(HotSpotStubs, WhatNothingLeadsToHasNoRow) {
  EXPECT_THAT(Row({0xc3, 0x90, 0x90, 0xc3}), ElementsAre(Pair(0, ByRsp(1)), Pair(1, kNone)));
  EXPECT_THAT(Row({0x50, 0xff, 0xe0, 0x58, 0xc3}),  // push; jmp *%rax; its case
              ElementsAre(Pair(0, ByRsp(1)), Pair(1, ByRsp(2)), Pair(3, kNone)));
}

TEST(HotSpotStubs, AnAlignedFrameHasARule) {
  const std::vector<cfi::CodeRows> rows =
      RowsOf({0x55, 0x48, 0x89, 0xe0,        // push %rbp; mov %rsp, %rax
              0x48, 0x83, 0xec, 0x20,        // sub $32, %rsp
              0x48, 0x83, 0xe4, 0xe0,        // and $-32, %rsp
              0x48, 0x89, 0x44, 0x24, 0x08,  // mov %rax, 8(%rsp)
              0x90,                          //
              0x48, 0x8b, 0x64, 0x24, 0x08,  // mov 8(%rsp), %rsp
              0x5d, 0xc3});
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(rows[0].rules.size(), 2u) << "by the register, and by where that was stored";
  EXPECT_EQ(rows[0].rules[0].cfa_kind, CFA_REGISTER);
  EXPECT_EQ(rows[0].rules[0].cfa_offset, 16);
  EXPECT_EQ(rows[0].rules[1].cfa_kind, CFA_DEREF);
  EXPECT_EQ(rows[0].rules[1].cfa_offset, 8);
  EXPECT_EQ(rows[0].rules[1].cfa_add, 16);
  EXPECT_EQ(rows[0].rules[1].rbp_offset, -16);
  EXPECT_EQ(rows[0].rules[1].guessed, 0);
  EXPECT_EQ(rows[0].rows.back().code, ByRsp(1));
}

// What jumps may be a table of data.
TEST(HotSpotStubs, AJumpFromAnotherStubChangesNothing) {
  const std::vector<cfi::CodeRows> rows =
      RowsOf({0x53, 0x53, 0xeb, 0x01, 0x53, 0x90, 0x5b, 0xc3}, {0, 4});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].begin, kBegin + 4);
  ASSERT_EQ(rows[1].rows.size(), 3u);
  EXPECT_EQ(rows[1].rows[1].code, ByRsp(2));
  EXPECT_EQ(rows[1].rows.back().code, ByRsp(1));
}

TEST(HotSpotStubs, AnyBytesAreAnswered) {
  for (uint32_t seed = 1; seed < 2000; ++seed) {
    std::vector<uint8_t> code(1 + seed % 97);
    uint32_t random = seed;
    for (uint8_t& byte : code)
      byte = static_cast<uint8_t>((random = random * 1664525 + 1013904223) >> 24);
    for (const cfi::CodeRows& rows : RowsOf(code)) {
      ASSERT_FALSE(rows.rows.empty());
      EXPECT_EQ(rows.rows[0].offset, 0u);
      for (size_t i = 1; i < rows.rows.size(); ++i)
        EXPECT_LT(rows.rows[i - 1].offset, rows.rows[i].offset);
    }
  }
}

struct MadeList {
  static constexpr uint64_t kVariable = 0x500;
  explicit MadeList(uint64_t begin_at) : begin_at(begin_at) {
    heaps.heaps[0] = {.begin = kBegin, .bytes = 0x10000, .segment_map = 0x800};
  }
  void Add(uint64_t begin, uint64_t end, std::string_view name) {
    const uint64_t at = next += 0x100, text = at + 0x80;
    for (uint64_t word = 0; word < 64; word += 8) memory.Put<uint64_t>(at + word, 0);
    memory.Put<uint64_t>(at, last);
    memory.Put<uint64_t>(at + 16, text);
    memory.Put<uint64_t>(at + begin_at, begin);
    memory.Put<uint64_t>(at + begin_at + 8, end);
    for (uint64_t i = 0; i < 64; ++i)
      memory.Put<uint8_t>(text + i, i < name.size() ? static_cast<uint8_t>(name[i]) : 0);
    memory.Put<uint64_t>(kVariable, last = at);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const Stub& stub : ReadStubs(memory, kVariable, heaps)) names.push_back(stub.name);
    return names;
  }
  uint64_t begin_at, next = 0x1000, last = 0;
  stackray::test::FakeMemory memory;
  hotspot_process heaps = {};
};

TEST(HotSpotStubs, TheListIsReadInBothShapes) {
  for (const uint64_t begin_at : {24, 32}) {
    MadeList list(begin_at);
    list.Add(kBegin + 0x200, kBegin + 0x300, "sha256_implCompressMB");
    list.Add(kBegin + 0x100, kBegin + 0x180, "updateBytesCRC32");
    EXPECT_THAT(list.Names(), ElementsAre("updateBytesCRC32", "sha256_implCompressMB"));
  }
}

TEST(HotSpotStubs, WhatMakesNoSenseIsLeftOut) {
  MadeList list(24);
  list.Add(kBegin + 0x100, kBegin + 0x100, "empty");
  list.Add(kBegin - 0x100, kBegin + 0x10, "outside");
  list.Add(kBegin + 0x100, kBegin + 0x180, "a\x1b[31m");
  list.Add(kBegin + 0x100, kBegin + 0x180, "");
  list.Add(kBegin + 0x200, kBegin + 0x300, "right");
  list.Add(kBegin + 0x280, kBegin + 0x380, "in another one");
  EXPECT_THAT(list.Names(), ElementsAre("right"));
  list.memory.Put<uint64_t>(list.last, list.last);
  EXPECT_LE(list.Names().size(), 1u) << "a ring ends";
  EXPECT_THAT(ReadStubs(list.memory, 0, list.heaps), IsEmpty());
  EXPECT_THAT(ReadStubs(list.memory, 0x400, list.heaps), IsEmpty());
}

}  // namespace
}  // namespace stackray::hotspot
