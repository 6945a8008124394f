// The step that leaves HotSpot's frames (bpf/hotspot.h), compiled for the host, in a code heap of a
// library, on a made-up stack.
#ifndef STACKRAY_TESTS_INTERPRETERS_HOTSPOT_MADE_STACK_H_
#define STACKRAY_TESTS_INTERPRETERS_HOTSPOT_MADE_STACK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "bpf/scratch.h"
#include "tests/interpreters/hotspot/fake_jvm.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray::test::hotspot {

inline int reads = 0;
inline int env_read(scratch*, void* to, u32 bytes, u64 from) {
  ++reads;
  LiveProcessMemory memory(static_cast<uint32_t>(getpid()));
  return memory.Read(from, {static_cast<u8*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
inline int env_read_runtime(scratch* s, void* to, u32 bytes, u64 from) {
  return env_read(s, to, bytes, from);
}
inline u8* env_chunk(scratch*, u32) { return nullptr; }
inline void env_count(u32) {}
inline int env_find_code(scratch*, u64) { return END_BAD_TABLE; }
inline int env_find_jit_table(scratch*, u64) { return 0; }
inline int env_describe_jit_table(scratch*) { return 0; }

#define CODE_IS_READABLE 1
#include "bpf/hotspot.h"

inline int env_leave_pushed(scratch* s, u64 at, u32 words) { return leave_pushed(s, at, words); }
inline int env_find_sender(scratch* s, u32 between) { return find_hotspot_sender(s, between); }
inline int env_step_hotspot(scratch* s, u32 step) {
  if (step == HOTSPOT_STEP_INTERPRETED) return step_interpreted_frame(s);
  return step == HOTSPOT_STEP_COMPILED ? step_compiled_frame(s) : step_hotspot_stub(s);
}

inline constexpr u64 kRbp = 0x1234;

// Of code between two methods: the call that the return address is behind, and its instructions.
inline void Write(u64 at, std::initializer_list<u8> code) {
  std::copy(code.begin(), code.end(), reinterpret_cast<u8*>(at));
}
inline constexpr std::initializer_list<u8> kCall = {0xe8, 1, 0, 0, 0};

class MadeStack : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto instance = jvm_.Attach();
    ASSERT_TRUE(instance.ok()) << instance.status();
    s_->stack.process = (*instance)->ForBpf();
    s_->stack.process.runtime = STACK_RUNTIME | 3;
    s_->window_base = ~0ULL;
    s_->range_count = 1;
    s_->ranges[0].kind = RANGE_ANON;
    s_->max_words = SAMPLE_MAX_NATIVE_FRAMES;
    heap_ = jvm_.Address("code_heap");
    // Every blob is laid out alike.
    code_ = p().call_return - 0x10 - heap_ - 2048;
  }
  const hotspot_process& p() const { return s_->stack.process.hotspot; }
  u64 Compiled(u64 offset) const { return heap_ + 1024 + code_ + offset; }
  u64 StubAt(u64 offset) const { return heap_ + 2048 + code_ + offset; }

  int Step(u64 pc, bool exact) {
    s_->regs.pc = pc;
    s_->regs.exact_pc = exact;
    s_->regs.r[UNWIND_SP] = reinterpret_cast<u64>(stack_.data());
    if (s_->regs.r[UNWIND_FP] == 0) s_->regs.r[UNWIND_FP] = kRbp;
    s_->word_count = 1;  // The native word, as the walk appends it.
    s_->window_base = ~0ULL;
    reads = 0;
    return step_hotspot(s_.get());
  }
  u64 Popped() const { return (s_->regs.r[UNWIND_SP] - reinterpret_cast<u64>(stack_.data())) / 8; }

  FakeJvm jvm_{GetParam()};
  std::unique_ptr<scratch> s_ = std::make_unique<scratch>();
  std::vector<u64> stack_ = std::vector<u64>(32, 7);
  u64 heap_ = 0, code_ = 0;
};

// An address behind a call.
__attribute__((noinline)) inline u64 AfterCall() {
  return reinterpret_cast<u64>(__builtin_return_address(0));
}

}  // namespace stackray::test::hotspot

#endif  // STACKRAY_TESTS_INTERPRETERS_HOTSPOT_MADE_STACK_H_
