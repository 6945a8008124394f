// Code between two methods (bpf/hotspot_entry.h) on made-up stacks.
#include <algorithm>
#include <initializer_list>

#include "tests/interpreters/hotspot/made_stack.h"

namespace stackray::test::hotspot {
namespace {

using HotSpotBetween = MadeStack;

// The arguments lie between the return address and the caller's frame.
TEST_P(HotSpotBetween, AnAdaptersCallerHasItsStackPointerInR13) {
  Write(Compiled(0x20) - 5, kCall);
  for (const std::initializer_list<u8> begin :
       {std::initializer_list<u8>{0x58, 0x4c, 0x8b, 0xec},              // pop %rax; mov %rsp, %r13
        std::initializer_list<u8>{0x4c, 0x8d, 0x6c, 0x24, 8, 0x58}}) {  // lea 8(%rsp), %r13; pop
    Write(StubAt(0x60), {0, 0, 0, 0, 0, 0, 0, 0});
    Write(StubAt(0x60), begin);
    const u64 popped = StubAt(0x60) + begin.size();
    s_->regs.r[13] = reinterpret_cast<u64>(&stack_[9]);
    s_->regs.r[0] = Compiled(0x20);
    ASSERT_EQ(Step(popped, true), END_NONE) << "in rax";
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(Popped(), 9u);
    s_->regs.r[0] = 7;
    stack_[0] = Compiled(0x20);
    ASSERT_EQ(Step(popped + 8, true), END_NONE) << "on top";
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(Popped(), 9u);
    // Before the pop r13 is whatever the caller has left there.
    ASSERT_EQ(Step(StubAt(0x60), true), END_NONE);
    EXPECT_EQ(Popped(), 1u);
    stack_[0] = 7;
  }
  EXPECT_EQ(Step(StubAt(0x70), true), END_NO_MAPPING);
}

TEST_P(HotSpotBetween, AnInterpretersEntryHasItsCallersStackPointerInR13) {
  Write(Compiled(0x20) - 5, kCall);
  const u64 pc = p().interpreter_begin + 32;
  s_->regs.r[13] = reinterpret_cast<u64>(&stack_[20]);
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(pc, true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(Popped(), 20u);
  // Locals are pushed while the address is in rax.
  stack_[0] = 0;
  s_->regs.r[0] = Compiled(0x20);
  ASSERT_EQ(Step(pc, true), END_NONE);
  EXPECT_EQ(Popped(), 20u);
  s_->regs.r[0] = 7;
  EXPECT_EQ(Step(pc, true), END_NO_MAPPING) << "no return address";
  // push %rbp, in front of mov %rsp, %rbp
  Write(pc - 1, {0x55, 0x48, 0x8b, 0xec});
  stack_[1] = Compiled(0x20);
  ASSERT_EQ(Step(pc, true), END_NONE);
  EXPECT_EQ(s_->regs.r[UNWIND_FP], kRbp);
  EXPECT_EQ(Popped(), 20u);
  // The frame's first slot has it.
  stack_[4] = reinterpret_cast<u64>(&stack_[22]);
  stack_[5] = 99;
  stack_[6] = Compiled(0x20);
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[5]);
  s_->regs.r[13] = 1;
  ASSERT_EQ(Step(pc + 3, true), END_NONE);
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 22u);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_INTERPRETER});
}

// As long as the frame is not filled.
TEST_P(HotSpotBetween, AnInterpretersEntryIsNamedByTheMethodInRbx) {
  Write(Compiled(0x20) - 5, kCall);
  hotspot_process& process = s_->stack.process.hotspot;
  process.entries = 24;
  process.entries_bytes = 16;
  const u64 pc = p().interpreter_begin + 32, method = jvm_.Address("outer_method");
  const u64 constant = jvm_.Address("outer_const");
  u64 sizes = 0;
  env_read(s_.get(), &sizes, sizeof(sizes), constant + p().code_size);
  s_->regs.r[13] = reinterpret_cast<u64>(&stack_[20]);
  s_->regs.r[3] = method;
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(pc, true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->body[0], u64{FRAME_OF_STACK} << FRAME_KIND_SHIFT | method | HOTSPOT_INTERPRETED);
  EXPECT_EQ(s_->body[1], u64{hotspot_method_check(constant, sizes)} << 32) << "of no bytecode";
  ASSERT_EQ(Step(pc + 8, true), END_NONE);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_INTERPRETER}) << "in no entry";
  s_->regs.r[3] = 0x10000;
  ASSERT_EQ(Step(pc, true), END_NONE);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_INTERPRETER}) << "no Method";
}

TEST_P(HotSpotBetween, AnInterpretersExitHasItsCallersStackPointerInRbx) {
  Write(Compiled(0x20) - 5, kCall);
  const u64 pc = p().interpreter_begin + 32;
  Write(pc, {0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3});  // leave; pop %r13; mov %rbx, %rsp
  s_->regs.r[3] = reinterpret_cast<u64>(&stack_[20]);
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(pc + 1, true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(Popped(), 20u);
  stack_[0] = 7;
  s_->regs.r[13] = Compiled(0x20);
  ASSERT_EQ(Step(pc + 3, true), END_NONE);
  EXPECT_EQ(Popped(), 20u);
  s_->regs.r[13] = Compiled(0x20) + 1;
  EXPECT_EQ(Step(pc + 3, true), END_NO_MAPPING) << "no call leaves that address";
}

// The return address is not popped yet, and the JVM is called: r13 and rax say it already.
TEST_P(HotSpotBetween, AnAdapterMayCallTheJvmFirst) {
  Write(Compiled(0x20) - 5, kCall);
  stack_[9] = Compiled(0x20);
  s_->regs.r[13] = reinterpret_cast<u64>(&stack_[9]);
  s_->regs.r[0] = Compiled(0x20);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(Popped(), 10u);
}

// As the stub that flushes the instruction cache: rax is of the code that was patched.
TEST_P(HotSpotBetween, OfAnotherStubRaxSaysNothing) {
  Write(Compiled(0x20) - 5, kCall);
  Write(Compiled(0x30) - 5, kCall);
  s_->regs.r[0] = Compiled(0x20);
  stack_[0] = AfterCall();
  const u64 native = stack_[0];
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, native);
  EXPECT_EQ(Popped(), 1u);
  stack_[0] = Compiled(0x30);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30)) << "a Java method's stub";
  stack_[0] = 7;
  EXPECT_EQ(Step(StubAt(0x20), true), END_NO_MAPPING);
}

// JDK 8's frame has a slot less, and is whole without any expression.
TEST_P(HotSpotBetween, AnInterpretersFrameIsWholeWithItsLastSlot) {
  Write(Compiled(0x20) - 5, kCall);
  for (const u8 slot : {7, 8}) {
    s_->stack.process.hotspot.bytecode_slot = slot;
    u64* const rbp = &stack_[slot + 1];
    std::fill(stack_.begin(), stack_.end(), 7);
    rbp[1] = Compiled(0x20);
    rbp[0] = 99;
    rbp[-1] = reinterpret_cast<u64>(&stack_[20]);
    rbp[-3] = jvm_.Address("outer_method");
    s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
    ASSERT_EQ(Step(p().interpreter_begin + 32, true), END_NONE);
    EXPECT_EQ(s_->body[0] & FRAME_OFFSET_MASK, jvm_.Address("outer_method"));
    EXPECT_EQ(Popped(), 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Jdks, HotSpotBetween,
                         testing::Values("fake_hotspot_17", "fake_hotspot_25"));

}  // namespace
}  // namespace stackray::test::hotspot
