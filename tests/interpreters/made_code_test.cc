// Leaving a frame of code that a runtime has made (bpf/made_code.h), over stacks as Ruby's YJIT
// makes them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bpf/scratch.h"
#include "symbolizer/unwind/host_walk.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray::test {
namespace {

// The stack of the test at hand: words from kStack on.
constexpr u64 kStack = 0x7fff0000, kBase = 0x400000;
std::vector<u64> stack;
// And the code that it runs; empty: it cannot be read.
constexpr u64 kCode = 0x12345678;
std::vector<u8> code;

int env_read(scratch*, void* to, u32 bytes, u64 from) {
  if (from - kCode < code.size() && bytes <= code.size() - (from - kCode)) {
    std::memcpy(to, &code[from - kCode], bytes);
    return END_NONE;
  }
  if (from < kStack || (from - kStack) % 8 != 0 || (from - kStack + bytes) / 8 > stack.size())
    return END_READ_FAULT;
  std::memcpy(to, &stack[(from - kStack) / 8], bytes);
  return END_NONE;
}
u8* env_chunk(scratch*, u32) { return nullptr; }
void env_count(u32) {}
int env_find_jit_table(scratch*, u64) { return 0; }
int env_find_range(scratch* s, u64 pc);
int env_find_code(scratch*, u64) { return END_BAD_TABLE; }
int env_step_rarely(scratch*, u64) { return END_BAD_TABLE; }
int env_leave_made_code(scratch* s);
int env_find_go_stack(scratch*) { return END_UNSUPPORTED_RULE; }
int env_leave_probe(scratch*, int end) { return end; }
int env_scan_word(scratch*, u64) { return 0; }  // It would have to see code.
int env_frame_record_kind(scratch*) { return 0; }
u32 env_bytes_of_new_frame(scratch* s);

#define CODE_IS_READABLE 0
#include "bpf/native.h"

int env_leave_made_code(scratch* s) {
  return s->made_code.is_there != 0 ? leave_made_frame(s) : int{END_UNSUPPORTED_RULE};
}
int env_find_range(scratch*, u64) { return END_NO_MAPPING; }
u32 env_bytes_of_new_frame(scratch* s) { return bytes_of_new_frame(s); }

// Code that is called from 0x1000 to 0x1fff and from 0x5000 to 0x5007 of the runtime's file.
std::unique_ptr<scratch> MadeFrame(u64 rbp) {
  auto s = std::make_unique<scratch>();
  s->window_base = ~0ULL;
  s->range_count = 1;
  s->ranges[0].kind = RANGE_ANON;
  s->regs.r[UNWIND_SP] = kStack;
  s->regs.r[UNWIND_FP] = rbp;
  s->regs.pc = kCode;
  s->made_code = {.base = kBase,
                  .callers = {.begin = {0x1000, 0x5000}, .bytes = {0x1000, 8}},
                  .is_known = 1,
                  .is_there = 1};
  return s;
}

TEST(MadeCode, EndsWithAReturnAddressIntoTheLoop) {
  stack = {1, 2, 3, kBase + 0x1234, 4, 5};
  const auto s = MadeFrame(77);
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  EXPECT_EQ(s->regs.pc, kBase + 0x1234);
  EXPECT_EQ(s->regs.r[UNWIND_SP], kStack + 32);
  EXPECT_EQ(s->regs.r[UNWIND_FP], 77u);
  EXPECT_EQ(s->regs.exact_pc, 0u);
}

TEST(MadeCode, WhereItKeepsFramePointersRbpIsTheSavedOne) {
  stack = {1, 2, 3, 99, 88, kBase + 0x5007, 4};
  auto s = MadeFrame(kStack + 4 * 8);
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  EXPECT_EQ(s->regs.r[UNWIND_SP], kStack + 48);
  EXPECT_EQ(s->regs.r[UNWIND_FP], 88u);
}

TEST(MadeCode, OtherMemoryIsLeftByFramePointers) {
  stack.assign(100, kBase + 0x2000);  // Right behind the loop.
  stack[60] = kStack + 80 * 8;
  stack[61] = kBase + 0x7777;
  auto s = MadeFrame(kStack + 60 * 8);
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  EXPECT_EQ(s->regs.pc, kBase + 0x7777);
  EXPECT_EQ(s->regs.r[UNWIND_FP], kStack + 80 * 8);
  stack[MADE_FRAME_WORDS] = kBase + 0x1000;  // Too far up.
  s = MadeFrame(kStack + 60 * 8);
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  EXPECT_EQ(s->regs.pc, kBase + 0x7777);
}

TEST(MadeCode, AStackThatEndsIsNotReadBeyond) {
  stack = {1, 2};
  const auto s = MadeFrame(0);
  EXPECT_EQ(step_without_rules(s.get()), END_NULL_FP);
}

// Behind a rule it is the outermost frame's; a guess may have read any word.
TEST(MadeCode, AReturnAddressOfZeroThatAGuessFoundIsNoKnownEnd) {
  stack.assign(100, 1);
  stack[60] = stack[61] = 0;
  const auto s = MadeFrame(kStack + 60 * 8);
  s->word_count = 1;
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  u64 offset = 0;
  EXPECT_EQ(enter_native_frame(s.get(), &offset), END_GUESSED_NULL_RA);
  s->word_count = 2;
  EXPECT_EQ(enter_native_frame(s.get(), &offset), END_NULL_RA);
}

// A frame record in which the frame pointer is 0 ends JIT code's stack; a register that is 0 does
// not, and neither does a record of the frame before.
TEST(MadeCode, ARecordWithoutAPredecessorIsTheOutermost) {
  stack.assign(100, 1);
  stack[60] = 0;
  stack[61] = kBase + 0x7777;
  const auto s = MadeFrame(kStack + 60 * 8);
  s->word_count = 1;
  ASSERT_EQ(step_without_rules(s.get()), END_NONE);
  ASSERT_EQ(s->regs.r[UNWIND_FP], 0U);
  EXPECT_EQ(step_frame_pointer(s.get()), END_NULL_FP);
  s->word_count = 2;
  EXPECT_EQ(step_frame_pointer(s.get()), END_NULL_RECORD);
  s->ranges[s->current_range].kind = RANGE_FILE;
  EXPECT_EQ(step_frame_pointer(s.get()), END_NULL_FP);
  s->ranges[s->current_range].kind = RANGE_ANON;
  s->word_count = 3;
  EXPECT_EQ(step_frame_pointer(s.get()), END_NULL_FP);
}

// Where code without rules goes on: behind the word at rsp (the function's frame is not there), or
// behind the frame record at rbp.
enum class Left { kByRsp, kByRecord };
Left LeftBy(const std::vector<u8>& bytes, size_t at) {
  stack.assign(100, 1);
  stack[0] = kBase + 0x1111;
  stack[60] = kStack + 80 * 8;
  stack[61] = kBase + 0x7777;
  code = bytes;
  code.resize(64, 0x90);
  const auto s = MadeFrame(kStack + 60 * 8);
  s->made_code = {};
  s->regs.pc += at;
  s->regs.exact_pc = 1;
  EXPECT_EQ(step_without_rules(s.get()), END_NONE);
  code.clear();
  const bool is_by_rsp = s->regs.pc == kBase + 0x1111;
  EXPECT_EQ(s->regs.pc, kBase + (is_by_rsp ? 0x1111 : 0x7777));
  EXPECT_EQ(s->regs.r[UNWIND_FP], kStack + (is_by_rsp ? 60 : 80) * 8);
  return is_by_rsp ? Left::kByRsp : Left::kByRecord;
}

// A function of Erlang's: it jumps over the call of a breakpoint, makes its frame, and calls itself
// at its end with leave and a jump.
TEST(MadeCode, AJumpToAFunctionsBeginHasNoFrame) {
  const std::vector<u8> function = {0xeb, 6,    0x90, 0xe8, 0x21, 0xff, 0xff, 0xff,  // jmp 8
                                    0x55, 0x48, 0x89, 0xe5, 0x49, 0xff, 0xce,        // dec %r14
                                    0xc9, 0xeb, 0xee,                                // leave; jmp 0
                                    0xe9, 0xe9, 0xff, 0xff, 0xff};                   // jmp 0
  EXPECT_EQ(LeftBy(function, 0), Left::kByRsp);
  EXPECT_EQ(LeftBy(function, 8), Left::kByRsp);
  EXPECT_EQ(LeftBy(function, 12), Left::kByRecord);
  EXPECT_EQ(LeftBy(function, 15), Left::kByRecord);
  EXPECT_EQ(LeftBy(function, 16), Left::kByRsp);
  EXPECT_EQ(LeftBy(function, 18), Left::kByRsp);
}

TEST(MadeCode, AnotherJumpKeepsItsFrame) {
  EXPECT_EQ(LeftBy({0xeb, 0, 0x55, 0x90, 0x90}, 0), Left::kByRecord);  // A pushed register.
  EXPECT_EQ(LeftBy({0xeb, 0, 0x55, 0x48, 0x8b, 0xec}, 0), Left::kByRsp);
  EXPECT_EQ(LeftBy({0xeb, 0, 0xeb, 0, 0xeb, 0, 0x55, 0x48, 0x89, 0xe5}, 0), Left::kByRecord);
  EXPECT_EQ(LeftBy({0xeb, 0xfe}, 0), Left::kByRecord);                       // To itself.
  EXPECT_EQ(LeftBy({0xe9, 0, 0, 0, 0x7f}, 0), Left::kByRecord);              // To where nothing is.
  EXPECT_EQ(LeftBy({0x75, 0, 0x55, 0x48, 0x89, 0xe5}, 0), Left::kByRecord);  // If not equal.
}

// A walk that user space finishes: a leaf in memory of no file, and the runtime's file, which has
// no table.
class MadeCodeEnvironment : public WalkEnvironment {
 public:
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    return env_read(nullptr, to.data(), static_cast<u32>(to.size()), address) == END_NONE;
  }
  std::optional<code_range> FindRange(uint64_t pc) override {
    const bool is_file = pc >= kBase && pc < kBase + 0x10000;
    code_range range{};
    range.start = is_file ? kBase : 0x12340000;
    range.end = range.start + 0x10000;
    range.kind = is_file ? RANGE_FILE : RANGE_ANON;
    return pc >= range.start && pc < range.end ? std::optional(range) : std::nullopt;
  }
  range_table DescribeTable(const code_range&) override { return {.state = RANGE_NO_TABLE}; }
  bool Load(const code_range&, uint64_t) override { return false; }
  uint8_t* Chunk(uint32_t) override { return nullptr; }
  bool FindMadeCode(made_code* found) override {
    ++asked;
    found->base = kBase;
    found->callers = {.begin = {0x1000}, .bytes = {0x1000}};
    return is_there;
  }
  bool is_there = true;
  int asked = 0;
};

TEST(MadeCode, IsLeftInUserSpaceToo) {
  stack = {1, 2, 3, kBase + 0x1234, 0, 0};
  unwind_registers leaf{};
  leaf.pc = 0x12345678;
  leaf.exact_pc = 1;
  leaf.r[UNWIND_SP] = kStack;
  MadeCodeEnvironment environment;
  HostWalk walk;
  EXPECT_EQ(walk.Walk(environment, leaf).words.size(), 2u);
  EXPECT_EQ(environment.asked, 1);
  // Not of the walk before.
  environment.is_there = false;
  EXPECT_EQ(walk.Walk(environment, leaf).words.size(), 1u);
  EXPECT_EQ(environment.asked, 2);
}

}  // namespace
}  // namespace stackray::test
