// A made-up stack that bpf/v8.h leaves frames of. Each test that includes this compiles the steps
// for itself.
#ifndef STACKRAY_TESTS_INTERPRETERS_V8_MADE_STACK_H_
#define STACKRAY_TESTS_INTERPRETERS_V8_MADE_STACK_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "bpf/scratch.h"
#include "interpreters/process_memory.h"
#include "interpreters/v8/frame.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray::test {
namespace {

int env_read(scratch*, void* to, u32 bytes, u64 from) {
  LiveProcessMemory memory(static_cast<uint32_t>(getpid()));
  return memory.Read(from, {static_cast<u8*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_read_runtime(scratch* s, void* to, u32 bytes, u64 from) {
  return env_read(s, to, bytes, from);
}
u8* env_chunk(scratch*, u32) { return nullptr; }
[[maybe_unused]] void env_count(u32) {}
[[maybe_unused]] int env_find_code(scratch*, u64) { return END_BAD_TABLE; }
[[maybe_unused]] int env_find_jit_table(scratch*, u64) { return 0; }

#define CODE_IS_READABLE 1
#include "bpf/v8.h"

int env_step_v8(scratch* s, u32 step) {
  if (step == V8_STEP_AWAITING) return step_awaiting(s);
  return step == V8_STEP_LEAF ? step_v8_leaf(s) : step_v8_frame(s);
}

using v8::V8Frame;
constexpr u64 kReturn = 0x7f0012345678, kCallersFp = 0x7ffc00001000;
constexpr u32 kIdentity = 0xabcd1234;
constexpr u16 kShared = 32, kCheck = 64, kHeader = 64, kLength = 8;
constexpr size_t kRecord = 32;  // The word of the stack that rbp points at.

class V8Step : public testing::Test {
 protected:
  void SetUp() override {
    stack_process& process = s_->stack.process;
    process.kind = RUNTIME_V8;
    process.runtime = STACK_RUNTIME | 5;
    process.v8 = {.function_shared = kShared,
                  .shared_check = kCheck,
                  .bytecode_header = kHeader,
                  .bytecode_length = kLength,
                  .function_slot = 16,
                  .bytecode_slot = 32,
                  .offset_slot = 40,
                  .wasm_marker = 34,
                  .give_up_begin = 0x7000,
                  .give_up_end = 0x8000,
                  .old_frame = 16,
                  .old_frame_words = 24};
    s_->range_count = 1;
    s_->max_words = SAMPLE_MAX_NATIVE_FRAMES;
    function_[kShared / 8] = Tagged(shared_);
    std::memcpy(&shared_[kCheck / 8], &kIdentity, sizeof(kIdentity));
    bytecode_[kLength / 8] = u64{100} << 32;
    stack_[kRecord] = kCallersFp;
    stack_[kRecord + 1] = kReturn;
    stack_[kRecord - 1] = Tagged(context_);
    stack_[kRecord - 2] = Tagged(function_);
  }

  using Object = std::array<u64, 16>;
  static u64 Tagged(const Object& object) { return reinterpret_cast<u64>(object.data()) + 1; }
  u64 At(size_t word) const { return reinterpret_cast<u64>(&stack_[word]); }
  u64 Shared() const { return reinterpret_cast<u64>(shared_.data()); }

  // Rsp at the word `sp` of the stack.
  int Step(u64 pc, bool exact, size_t sp, range_kind kind = RANGE_ANON) {
    s_->window_base = ~0ULL;
    s_->ranges[0].kind = static_cast<u8>(kind);
    s_->regs.pc = pc;
    s_->regs.exact_pc = exact;
    s_->regs.r[UNWIND_SP] = At(sp);
    s_->word_count = 1;  // The native word, as the walk appends it.
    return step_v8(s_.get());
  }
  int StepInterpreted(size_t leaf_words = 0) {
    s_->window_base = ~0ULL;
    s_->ranges[0].kind = RANGE_FILE;
    s_->regs.pc = 0x5000;
    s_->regs.exact_pc = 0;
    s_->regs.r[UNWIND_SP] = At(8);
    s_->regs.r[UNWIND_FP] = At(kRecord);
    s_->word_count = 1 + leaf_words;
    return step_v8(s_.get());
  }
  void SetInterpreted(u64 offset) {
    stack_[kRecord - 4] = Tagged(bytecode_);
    stack_[kRecord - 5] = offset << 32;
  }

  V8Frame Named() const {
    EXPECT_GE(s_->word_count, 2u);
    const u64 first = s_->body[s_->word_count - 2], second = s_->body[s_->word_count - 1];
    EXPECT_EQ(first >> FRAME_KIND_SHIFT, u64{FRAME_OF_STACK});
    return v8::UnpackFrame(first & FRAME_OFFSET_MASK, second);
  }
  void ExpectCaller(u64 pc, u64 fp, u64 sp) const {
    EXPECT_EQ(s_->regs.pc, pc);
    EXPECT_EQ(s_->regs.r[UNWIND_FP], fp);
    EXPECT_EQ(s_->regs.r[UNWIND_SP], sp);
    EXPECT_FALSE(s_->regs.exact_pc);
  }

  std::unique_ptr<scratch> s_ = std::make_unique<scratch>();
  std::vector<u64> stack_ = std::vector<u64>(64, 6);
  alignas(8) Object function_{}, shared_{}, context_{}, bytecode_{}, instance_{};
};

}  // namespace
}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_V8_MADE_STACK_H_
