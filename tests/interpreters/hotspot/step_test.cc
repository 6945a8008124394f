// Leaving HotSpot's frames (bpf/hotspot.h) on made-up stacks.
#include <algorithm>
#include <initializer_list>

#include "tests/interpreters/hotspot/made_stack.h"

namespace stackray::test::hotspot {
namespace {

using HotSpotStep = MadeStack;

TEST_P(HotSpotStep, ACalledFrameIsLeftByItsSize) {
  stack_[4] = 99;
  stack_[5] = Compiled(0x20);
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 6u);
  const u64 nmethod = heap_ + 1024 + p().blob;
  ASSERT_EQ(s_->word_count, 2u);
  EXPECT_EQ(s_->body[0], u64{FRAME_OF_STACK} << FRAME_KIND_SHIFT | nmethod | HOTSPOT_COMPILED);
  EXPECT_EQ(s_->body[1], u64{77} << 32 | HOTSPOT_RETURN_BIT | (Compiled(0x30) - nmethod));
  EXPECT_EQ(s_->ranges[0].runtime, STACK_RUNTIME | 3);
}

// Where the return address is, in words from the stack pointer, and rbp, at each instruction.
TEST_P(HotSpotStep, ALeafIsLeftByItsNextInstruction) {
  struct Case {
    u64 at, returns, rbp;  // rbp: the word that has the caller's; 0: the register.
  };
  for (const Case& c :
       {Case{0x00, 0, 0}, Case{0x07, 0, 0}, Case{0x08, 1, 0}, Case{0x0c, 5, 4}, Case{0x20, 5, 4},
        Case{0x40, 5, 4}, Case{0x44, 1, 0}, Case{0x45, 0, 0}, Case{0x4c, 0, 0}, Case{0x52, 0, 0}}) {
    SCOPED_TRACE(c.at);
    s_->regs.r[UNWIND_FP] = kRbp;
    std::fill(stack_.begin(), stack_.end(), 7);
    for (u64 i = 0; i < c.returns; ++i) stack_[i] = 100 + i;
    stack_[c.returns] = Compiled(0x20);
    ASSERT_EQ(Step(Compiled(c.at), true), END_NONE);
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(Popped(), c.returns + 1);
    const bool is_saved = c.returns > 0;
    EXPECT_EQ(s_->regs.r[UNWIND_FP], is_saved ? 100 + c.returns - 1 : kRbp);
  }
}

// The barrier's begin is aligned. What the stack had in the new frame may look like a caller.
TEST_P(HotSpotStep, BeforeAnEntrysBarrierTheFrameIsWhole) {
  for (const std::initializer_list<u8> code : {std::initializer_list<u8>{0x90, 0x41, 0x81, 0x7f},
                                               {0x66, 0x90, 0x41, 0x81, 0x7f},
                                               {0x66, 0x66, 0x90, 0x41, 0x81, 0x7f}}) {
    Write(Compiled(4), code);
    std::fill(stack_.begin(), stack_.end(), 7);
    stack_[0] = Compiled(0x30);
    stack_[4] = 99;
    stack_[5] = Compiled(0x20);
    s_->regs.r[UNWIND_FP] = kRbp;
    ASSERT_EQ(Step(Compiled(4), true), END_NONE);
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
    EXPECT_EQ(Popped(), 6u);
  }
}

TEST_P(HotSpotStep, ABarriersPushedWordsAreSkipped) {
  stack_[6] = 99;
  stack_[7] = Compiled(0x20);
  ASSERT_EQ(Step(Compiled(0x80), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(Popped(), 8u);
  stack_[7] = 7;
  s_->window_base = ~0ULL;  // Else the words that were read before are still at hand.
  EXPECT_EQ(Step(Compiled(0x80), false), END_NO_MAPPING);
}

TEST_P(HotSpotStep, WordsThatArePoppedBehindTheCallAreSkipped) {
  stack_[6] = 99;
  stack_[7] = Compiled(0x20);
  ASSERT_EQ(Step(Compiled(0xa0), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 8u);
}

TEST_P(HotSpotStep, AnEntryBarriersStubHasAWordMoreThanAFrameRecord) {
  stack_[3] = 99;
  stack_[4] = ~u64{0};
  stack_[5] = Compiled(0x20);
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[3]);
  ASSERT_EQ(Step(StubAt(0x20), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 6u);
}

TEST_P(HotSpotStep, NativeCodeMayCallAStub) {
  const u64 caller = AfterCall();
  stack_[0] = caller;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, caller);
  EXPECT_EQ(Popped(), 1u);
  EXPECT_NE(s_->flags & SAMPLE_GUESSED, 0u);
  stack_[0] = caller + 1;
  s_->window_base = ~0ULL;
  EXPECT_EQ(Step(StubAt(0x20), true), END_NO_MAPPING) << "no call leaves that address";
}

// As VM_Version's stubs: rbp, rbx, rsi and the flags are pushed, then perhaps rax.
TEST_P(HotSpotStep, NativeCodesStubMayHavePushedRegisters) {
  const u64 caller = AfterCall(), rbp = reinterpret_cast<u64>(&stack_[20]);
  for (u64 pushed : {3, 4, 5}) {
    SCOPED_TRACE(pushed);
    std::fill(stack_.begin(), stack_.end(), 7);
    stack_[pushed - 1] = rbp;
    stack_[pushed] = caller;
    stack_[pushed + 3] = Compiled(0x20);  // Of a frame further up.
    s_->regs.r[UNWIND_FP] = kRbp;
    ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
    EXPECT_EQ(s_->regs.pc, caller);
    EXPECT_EQ(s_->regs.r[UNWIND_FP], rbp);
    EXPECT_EQ(Popped(), pushed + 1);
  }
  stack_[4] = s_->regs.r[UNWIND_FP] = kRbp;
  stack_[8] = 7;
  EXPECT_EQ(Step(StubAt(0x20), true), END_NO_MAPPING) << "no frame pointer is below it";
}

TEST_P(HotSpotStep, ADeoptimisedFrameHasItsOriginalPlace) {
  stack_[2] = Compiled(0x30);  // 16 bytes from the stack pointer.
  stack_[5] = Compiled(0x20);
  ASSERT_EQ(Step(Compiled(0xf0), false), END_NONE);
  EXPECT_EQ(s_->body[1] & 0x7fffffff, Compiled(0x30) - heap_ - 1024 - p().blob);
  EXPECT_EQ(Popped(), 6u);
}

TEST_P(HotSpotStep, AStubHasPushedNothingOrKeepsAFramePointer) {
  Write(Compiled(0x1b), kCall);
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(Popped(), 1u);
  stack_[0] = 7;
  stack_[3] = 99;
  stack_[4] = Compiled(0x30);
  s_->window_base = ~0ULL;
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[3]);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 5u);
}

// What an older call has left lies on top: the row knows better.
TEST_P(HotSpotStep, AStubWithARowIsLeftByIt) {
  s_->stack.process.hotspot.stubs_begin = heap_;
  s_->stack.process.hotspot.stubs_bytes = 8192;
  Write(Compiled(0x1b), kCall);
  stack_[0] = Compiled(0x20);
  stack_[3] = 99;
  stack_[4] = Compiled(0x30);
  s_->stack.stub_code = 2 << CODE_RBP_SHIFT | 5;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 5u);
  EXPECT_EQ(s_->body[1], StubAt(0x20) - (heap_ + 2048 + p().blob) + 1);
  EXPECT_EQ(s_->flags, 0u) << "no guess";
  s_->stack.stub_code = STUB_HAS_NO_CODE;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
}

// By a register that has rsp as it was, or by the word where that was stored.
TEST_P(HotSpotStep, AStubMayHaveRoundedItsStackPointerDown) {
  s_->stack.process.hotspot.stubs_begin = heap_;
  s_->stack.process.hotspot.stubs_bytes = 8192;
  s_->stack.stub_code = CODE_BASE_RULE << CODE_BASE_SHIFT;
  s_->regs.known = KNOWN_ALL;
  stack_[8] = 99;
  stack_[9] = Compiled(0x30);
  const u64 before = reinterpret_cast<u64>(&stack_[8]);
  s_->rule = {
      .cfa_kind = CFA_REGISTER, .rbp_kind = VALUE_AT_CFA, .cfa_offset = 16, .rbp_offset = -16};
  s_->regs.r[0] = before;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  stack_[2] = before;
  s_->rule = {.cfa_kind = CFA_DEREF,
              .cfa_register = UNWIND_SP,
              .rbp_kind = VALUE_AT_CFA,
              .cfa_offset = 16,
              .cfa_add = 16,
              .rbp_offset = -16};
  s_->regs.known = KNOWN_ALL;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
  EXPECT_EQ(Popped(), 10u);
}

// Of the assembler's stubs without a row: only a frame record that a call of the blob has made.
TEST_P(HotSpotStep, AStubWithoutARowIsDoubted) {
  static const char* const name = "StubRoutines (2)";
  Write(Compiled(0x1b), kCall);
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->flags & SAMPLE_DOUBTED, 0u) << "a vtable stub";
  std::memcpy(reinterpret_cast<void*>(heap_ + 2048 + p().blob + p().name), &name, sizeof(name));
  s_->stack.blob_block = 0;
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_NE(s_->flags & SAMPLE_DOUBTED, 0u);
  s_->flags = 0;
  const u64 distance = StubAt(0x20) - Compiled(0x30);
  Write(Compiled(0x2b), {0xe8, static_cast<u8>(distance), static_cast<u8>(distance >> 8), 0, 0});
  stack_[3] = 99;
  stack_[4] = Compiled(0x30);
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[3]);
  ASSERT_EQ(Step(StubAt(0x20), true), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
  EXPECT_EQ(s_->flags & SAMPLE_DOUBTED, 0u);
}

TEST_P(HotSpotStep, TheCallStubLeadsToNativeCode) {
  stack_[13] = 99;
  stack_[14] = 0x424242;
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[13]);
  ASSERT_EQ(Step(p().call_return, false), END_NONE);
  EXPECT_EQ(s_->regs.pc, 0x424242u);
  EXPECT_EQ(Popped(), 15u);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_CALL_STUB});
}

// Where a virtual thread's other frames lie in the heap, the stack goes on with its carrier's.
TEST_P(HotSpotStep, FrozenFramesAreSaidAndTheCarrierFollows) {
  u64 target = Compiled(0x30);
  s_->stack.process.hotspot.return_barrier = StubAt(0x20);
  s_->stack.process.hotspot.barrier_target = reinterpret_cast<u64>(&target);
  ASSERT_EQ(Step(StubAt(0x20), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, target);
  EXPECT_EQ(s_->regs.r[UNWIND_FP], kRbp);
  EXPECT_EQ(Popped(), 0u);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_CALL_STUB});
  EXPECT_EQ(s_->body[1], HOTSPOT_FROZEN_FRAMES);
  // Another stub's place has no such mark.
  s_->window_base = ~0ULL;
  s_->regs.r[UNWIND_FP] = kRbp;
  Write(Compiled(0x1b), kCall);
  stack_[0] = Compiled(0x20);
  ASSERT_EQ(Step(StubAt(0x10), true), END_NONE);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_STUB});
}

TEST_P(HotSpotStep, AnInterpretedFrameSaysItsMethodAndBytecode) {
  const u64 method = jvm_.Address("outer_method"), constant = jvm_.Address("outer_const");
  u64* const rbp = &stack_[16];
  rbp[1] = Compiled(0x20);
  rbp[0] = 99;
  rbp[-1] = reinterpret_cast<u64>(&stack_[20]);
  rbp[-3] = method;
  rbp[-8] = constant + p().const_method_bytes + 5;
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  ASSERT_EQ(Step(p().interpreter_begin + 5, false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 20u);
  EXPECT_EQ(s_->body[0] & FRAME_OFFSET_MASK, method);
  EXPECT_EQ(static_cast<u32>(s_->body[1]), 6u);
  // Of a leaf the register counts, where it lies in the bytecodes.
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  s_->regs.r[13] = constant + p().const_method_bytes + 2;
  ASSERT_EQ(Step(p().interpreter_begin + 5, true), END_NONE);
  EXPECT_EQ(static_cast<u32>(s_->body[1]), 3u);
}

// A method that linkToStatic() has called: the caller's stack pointer is a word below its frame.
TEST_P(HotSpotStep, AnInterpretedFrameMayEndBelowItsReturnAddress) {
  u64* const rbp = &stack_[16];
  rbp[1] = Compiled(0x20);
  rbp[-1] = reinterpret_cast<u64>(rbp + 1);
  rbp[-3] = jvm_.Address("outer_method");
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  ASSERT_EQ(Step(p().interpreter_begin + 5, false), END_NONE);
  EXPECT_EQ(Popped(), 17u);
  rbp[-1] = reinterpret_cast<u64>(rbp);
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  EXPECT_EQ(Step(p().interpreter_begin + 5, false), END_BAD_FP);
}

// Deoptimisation makes the links first, and the slots of the method after them.
TEST_P(HotSpotStep, ADeoptimisedFrameHasNoMethodYet) {
  const u64 pc = p().interpreter_begin + 32;
  u64* const rbp = &stack_[16];
  rbp[1] = Compiled(0x20);
  rbp[0] = 99;
  rbp[-1] = reinterpret_cast<u64>(&stack_[20]);
  rbp[-2] = 0;
  rbp[-3] = jvm_.Address("outer_method");  // Of a frame that was there before.
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  ASSERT_EQ(Step(pc, false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x20));
  EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
  EXPECT_EQ(Popped(), 20u);
  EXPECT_EQ(s_->body[0] & HOTSPOT_FRAME_MASK, u64{HOTSPOT_CALL_STUB});
  EXPECT_EQ(s_->body[1], HOTSPOT_DEOPTIMISED_FRAME);
  // A method that calls the JVM.
  Write(pc - 5, kCall);
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(rbp);
  ASSERT_EQ(Step(pc, false), END_NONE);
  EXPECT_EQ(s_->body[0] & FRAME_OFFSET_MASK, jvm_.Address("outer_method"));
}

TEST_P(HotSpotStep, AStubMayRoundItsStackPointerDown) {
  u32& words = *reinterpret_cast<u32*>(heap_ + 2048 + p().blob + p().frame_size);
  words = 6;
  stack_[4] = 98;
  stack_[5] = Compiled(0x30);  // Where the size alone says.
  for (const u64 at : {5, 4}) {
    stack_[at] = 99;
    stack_[at + 1] = Compiled(0x20);
    s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[at]);
    ASSERT_EQ(Step(StubAt(0x20), false), END_NONE);
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
    EXPECT_EQ(Popped(), at + 2);
  }
  words = 0;
}

// The segment map is asked once for a pc, as long as the same blob is there.
TEST_P(HotSpotStep, APlaceIsRememberedWhileItsBlobIsThere) {
  stack_[5] = Compiled(0x20);
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  // The segment map twice, the blob, the stack; and its kind's name before JDK 23.
  EXPECT_GE(reads, 4);
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  EXPECT_EQ(reads, 2) << "the blob, and the stack";
  s_->record.header.time_ns = 5;
  for (const int expected : {2, 1}) {
    ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
    EXPECT_EQ(reads, expected) << "within one sample the blob is read once";
  }

  s_->record.process.start_time_ns = 6;
  s_->record.header.time_ns = 6;
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  EXPECT_EQ(reads, 4) << "of another process nothing is known";

  s_->record.header.time_ns = 7;
  u8& is_used = *reinterpret_cast<u8*>(heap_ + 1024 + p().used);
  is_used = 0;
  EXPECT_EQ(Step(Compiled(0x30), false), END_UNSUPPORTED_RULE) << "freed";
  is_used = 1;
  s_->record.header.time_ns = 8;
  u32& compile_id = *reinterpret_cast<u32*>(heap_ + 1024 + p().blob + p().compile_id);
  const u32 old_id = compile_id++;
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  EXPECT_EQ(reads, 4) << "another method: the map is asked again";
  EXPECT_EQ(s_->body[1] >> 32, old_id + 1);
  compile_id = old_id;
}

// By which a compiled method calls an interpreted one: it is no frame of its own.
TEST_P(HotSpotStep, AStaticStubsFrameIsItsMethods) {
  Write(Compiled(0x20) - 5, kCall);
  Write(Compiled(0x60), {0x48, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0xe9});  // mov $method, %rbx; jmp
  stack_[0] = Compiled(0x20);
  stack_[6] = Compiled(0x30);
  for (const u64 at : {0x60, 0x6a}) {
    ASSERT_EQ(Step(Compiled(at), true), END_NONE);
    EXPECT_EQ(s_->regs.pc, Compiled(0x30));
    EXPECT_EQ(Popped(), 7u);
    EXPECT_EQ(s_->body[1] & 0x7fffffff, Compiled(0x20) - heap_ - 1024 - p().blob);
  }
}

// Around a call into the JVM: rbp says where its frame is; in its place lies an older address.
TEST_P(HotSpotStep, ANativeWrapperMayHavePushedItsArguments) {
  const char* const is_wrapper = "native nmethod";
  const char*& name = *reinterpret_cast<const char**>(heap_ + 1024 + p().blob + p().name);
  const char* const old_name = name;
  for (const u64 pushed : {0, 1, 4, 22}) {
    SCOPED_TRACE(pushed);
    std::fill(stack_.begin(), stack_.end(), 7);
    stack_[5] = Compiled(0x30);
    stack_[4 + pushed] = 99;
    stack_[5 + pushed] = Compiled(0x20);
    s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[4 + pushed]);
    name = is_wrapper;
    ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
    EXPECT_EQ(s_->regs.pc, Compiled(0x20));
    EXPECT_EQ(s_->regs.r[UNWIND_FP], 99u);
    EXPECT_EQ(Popped(), 6 + pushed);
    name = old_name;
  }
  // Other compiled code has anything in rbp.
  s_->regs.r[UNWIND_FP] = reinterpret_cast<u64>(&stack_[26]);
  ASSERT_EQ(Step(Compiled(0x30), false), END_NONE);
  EXPECT_EQ(s_->regs.pc, Compiled(0x30));
}

TEST_P(HotSpotStep, WhatIsNotTheJvmsIsLeftAlone) {
  EXPECT_EQ(Step(heap_ - 1, true), END_UNSUPPORTED_RULE);
  EXPECT_EQ(Step(heap_ + 3072 + code_, true), END_UNSUPPORTED_RULE) << "a freed blob";
  EXPECT_EQ(Step(heap_ + 5000, true), END_UNSUPPORTED_RULE) << "never used";
  s_->regs.r[UNWIND_FP] = 3;
  EXPECT_EQ(Step(p().interpreter_begin + 5, false), END_BAD_FP);
}

INSTANTIATE_TEST_SUITE_P(Jdks, HotSpotStep, testing::Values("fake_hotspot_17", "fake_hotspot_25"));

}  // namespace
}  // namespace stackray::test::hotspot
