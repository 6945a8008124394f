// Leaving V8's frames (bpf/v8.h) on made-up stacks. The instructions are those that Node's
// compilers wrote (--print-code of 16.20.2, 20.20.2, 24.21.0 and 26.10.0).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/interpreters/v8/made_stack.h"

namespace stackray::test {
namespace {

TEST_F(V8Step, ACalledFunctionIsLeftByItsRecord) {
  s_->regs.r[UNWIND_FP] = At(kRecord);
  ASSERT_EQ(Step(0x1234567, false, 8), END_NONE);
  const V8Frame frame = Named();
  EXPECT_EQ(frame.kind, V8Frame::Kind::kCompiled);
  EXPECT_EQ(frame.shared_function, Shared());
  EXPECT_EQ(frame.pc, 0x1234567u);
  EXPECT_TRUE(frame.is_return);
  EXPECT_EQ(frame.check, kIdentity & frame.check_mask);
  ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
  EXPECT_EQ(s_->ranges[0].runtime, STACK_RUNTIME | 5);
}

TEST_F(V8Step, FramesOfNoFunctionHaveTheirPlaceAlone) {
  for (const u64 marker : {u64{20}, u64{0}, ~u64{0}}) {  // A stub's; ≤ 18's regular expressions.
    stack_[kRecord - 1] = marker;
    s_->regs.r[UNWIND_FP] = At(kRecord);
    ASSERT_EQ(Step(0x1234567, false, 8), END_NONE);
    const V8Frame frame = Named();
    EXPECT_EQ(frame.kind, V8Frame::Kind::kStub);
    EXPECT_EQ(frame.shared_function, 0u);
    EXPECT_EQ(frame.pc, 0x1234567u);
    ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
  }
}

TEST_F(V8Step, WhatLooksLikeAFunctionsFrameAndHasNoneIsAStub) {
  for (const u64 slot : {u64{7}, u64{3} << 32, u64{0x10001}, ~u64{0}, u64{0x7fffffff0001}}) {
    stack_[kRecord - 2] = slot;
    s_->regs.r[UNWIND_FP] = At(kRecord);
    ASSERT_EQ(Step(0x1234567, false, 8), END_NONE);
    EXPECT_EQ(Named().kind, V8Frame::Kind::kStub);
  }
  stack_[kRecord - 2] = Tagged(function_);
  function_[kShared / 8] = 0x1230;  // No object.
  s_->regs.r[UNWIND_FP] = At(kRecord);
  ASSERT_EQ(Step(0x1234567, false, 8), END_NONE);
  EXPECT_EQ(Named().kind, V8Frame::Kind::kStub);
}

TEST_F(V8Step, AWasmFrameHasItsInstance) {
  stack_[kRecord - 1] = 34;
  stack_[kRecord - 2] = Tagged(instance_);
  s_->regs.r[UNWIND_FP] = At(kRecord);
  ASSERT_EQ(Step(0x1234567, false, 8), END_NONE);
  const V8Frame frame = Named();
  EXPECT_EQ(frame.kind, V8Frame::Kind::kWasm);
  EXPECT_EQ(frame.instance, reinterpret_cast<u64>(instance_.data()));
  EXPECT_EQ(frame.pc, 0x1234567u);
}

// Where the code was called from with the expression itself, which has its data, or with that; and
// how its frame is told from others.
TEST_F(V8Step, ARegularExpressionsFrameHasItsData) {
  Object expression{}, data{}, source{};
  expression[3] = Tagged(data);
  data[2] = Tagged(source);
  source[1] = u64{0x30017} << 32;  // 0x30017 characters, of which 16 bits are kept.
  v8_process& process = s_->stack.process.v8;
  const auto step = [&](u64 context, u64 slot) {
    stack_[kRecord - 1] = context;
    stack_[kRecord - 2] = 0;
    stack_[kRecord + 4] = slot;
    s_->regs.r[UNWIND_FP] = At(kRecord);
    EXPECT_EQ(Step(0x1234567, false, 8), END_NONE);
    ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
    EXPECT_EQ(Named().pc, 0x1234567u);
    EXPECT_TRUE(Named().is_return);
    return Named();
  };
  for (const u8 marker : {0, 54})
    for (const u8 in_expression : {24, 0}) {
      process.regexp_marker = marker;
      process.regexp_slot = 32;
      process.regexp_data = in_expression;
      process.regexp_source = 16;
      const u64 context = marker == 0 ? Tagged(context_) : marker;
      const u64 slot = Tagged(in_expression == 0 ? data : expression);
      const V8Frame frame = step(context, slot);
      EXPECT_EQ(frame.kind, V8Frame::Kind::kRegExp);
      EXPECT_EQ(frame.regexp, Tagged(data) - 1);
      EXPECT_EQ(frame.check, 0x17u);
      EXPECT_EQ(frame.check_mask, 0xffffu);
      // What leads to no data, and a frame of another kind.
      for (const u64 other : {u64{0}, u64{7} << 32, u64{0x7fffffff0001}, Tagged(context_)})
        EXPECT_EQ(step(context, other).kind, V8Frame::Kind::kStub);
      EXPECT_EQ(step(marker + 2, slot).kind, V8Frame::Kind::kStub);
      process.regexp_slot = 0;
      EXPECT_EQ(step(context, slot).kind, V8Frame::Kind::kStub);
    }
}

TEST_F(V8Step, ARecordThatCannotBeIsNone) {
  const u64 sp = At(8);
  for (const u64 fp : {u64{0}, sp - 8, sp + 4, sp + V8_MOST_FRAME_BYTES, ~u64{7}}) {
    s_->regs.r[UNWIND_FP] = fp;
    EXPECT_EQ(Step(0x1234567, false, 8), END_UNSUPPORTED_RULE) << fp;
    EXPECT_EQ(s_->word_count, 1u);
  }
}

TEST_F(V8Step, AnInterpretedFrameHasItsBytecode) {
  SetInterpreted(kHeader - 1 + 17);
  ASSERT_EQ(StepInterpreted(), END_NONE);
  const V8Frame frame = Named();
  EXPECT_EQ(frame.kind, V8Frame::Kind::kInterpreted);
  EXPECT_EQ(frame.shared_function, Shared());
  EXPECT_EQ(frame.bytecode_offset, 17);
  EXPECT_EQ(frame.check, kIdentity);
  EXPECT_EQ(frame.check_mask, ~u32{0});
  ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
}

// The old frame of six words, whose record is the fourth and the fifth, has been popped into
// `words`: what is on the stack is not the frame's any more.
TEST_F(V8Step, AFrameThatIsGivenUpIsWhereItWasPoppedTo) {
  std::array<u64, 9> words = {6 * 8,      0,       0, 4, Tagged(function_), Tagged(context_),
                              kCallersFp, kReturn, 7};
  Object owner{};
  owner[2] = reinterpret_cast<u64>(words.data());
  for (u64& word : stack_) word = 0xdead;
  stack_[20] = At(22);
  stack_[22] = reinterpret_cast<u64>(owner.data());
  const auto step = [&](u64 pc) {
    s_->regs.r[UNWIND_FP] = At(20);  // at + 8 is At(23), the frame began at At(17)
    return Step(pc, false, 20, RANGE_FILE);
  };
  ASSERT_EQ(step(0x7100), END_NONE);
  const V8Frame frame = Named();
  EXPECT_EQ(frame.kind, V8Frame::Kind::kCompiled);
  EXPECT_EQ(frame.shared_function, Shared());
  EXPECT_EQ(frame.pc, 0u);
  ExpectCaller(kReturn, kCallersFp, At(22));
  // Of another builtin; of a frame that is smaller than its record; of nothing at all.
  EXPECT_NE(step(0x8000), END_NONE);
  words[0] = 4 * 8;
  EXPECT_EQ(step(0x7100), END_UNSUPPORTED_RULE);
  words[0] = ~u64{0};
  EXPECT_EQ(step(0x7100), END_UNSUPPORTED_RULE);
  stack_[22] = 8;
  EXPECT_EQ(step(0x7100), END_UNSUPPORTED_RULE);
}

TEST_F(V8Step, ABytecodeThatCannotBeIsNotKnown) {
  for (const u64 offset : {u64{0}, u64{kHeader - 2}, u64{0xffffffff}}) {
    SetInterpreted(offset);
    ASSERT_EQ(StepInterpreted(), END_NONE);
    EXPECT_EQ(Named().bytecode_offset, -1) << offset;
  }
}

// The interpreter's registers are newer than its slot, as long as the leaf is a handler.
TEST_F(V8Step, ALeafsBytecodeIsInItsRegisters) {
  SetInterpreted(kHeader - 1 + 17);
  s_->regs.r[9] = kHeader - 1 + 40;
  s_->regs.r[12] = Tagged(bytecode_);
  ASSERT_EQ(StepInterpreted(1), END_NONE);
  EXPECT_EQ(Named().bytecode_offset, 40);
  ASSERT_EQ(StepInterpreted(0), END_NONE);  // The leaf is not a handler.
  EXPECT_EQ(Named().bytecode_offset, 17);
  s_->regs.r[9] = kHeader - 1 + 100;  // Behind the last one.
  ASSERT_EQ(StepInterpreted(1), END_NONE);
  EXPECT_EQ(Named().bytecode_offset, 17);
  s_->regs.r[9] = kHeader - 1 + 40;
  s_->regs.r[12] = Tagged(shared_);
  ASSERT_EQ(StepInterpreted(1), END_NONE);
  EXPECT_EQ(Named().bytecode_offset, 17);
}

TEST_F(V8Step, OtherFramesOfTheInterpretersBuiltinAreNotItsFunctions) {
  SetInterpreted(kHeader - 1 + 17);
  stack_[kRecord - 1] = 0x2c;  // An internal frame: it asks for the function to be compiled.
  EXPECT_EQ(StepInterpreted(), END_UNSUPPORTED_RULE);
  stack_[kRecord - 1] = Tagged(context_);
  stack_[kRecord - 5] |= 1;
  EXPECT_EQ(StepInterpreted(), END_UNSUPPORTED_RULE);
  SetInterpreted(kHeader - 1 + 17);
  stack_[kRecord - 4] = 8;
  EXPECT_EQ(StepInterpreted(), END_UNSUPPORTED_RULE);
  SetInterpreted(kHeader - 1 + 17);
  stack_[kRecord - 2] = 8;
  EXPECT_EQ(StepInterpreted(), END_UNSUPPORTED_RULE);
  EXPECT_EQ(s_->word_count, 1u);
}

// Code of one of V8's compilers, and what has happened to the stack before each instruction.
enum class Stack { kEntered, kPushed, kSet, kWhole, kPopped, kReturnInR10, kDropped };
struct Instruction {
  u32 offset;
  Stack stack;
};
struct Code {
  const char* name;
  std::vector<u8> bytes;
  std::vector<Instruction> instructions;
};

std::vector<Code> Codes() {
  using enum Stack;
  return {
      {"Node16Turbofan",
       {0x48, 0x8b, 0x59, 0xc0, 0xf6, 0x43, 0x0f, 0x01, 0x74, 0x0d, 0x49, 0xba, 0x20,
        0xda, 0x56, 0x01, 0,    0,    0,    0,    0x41, 0xff, 0xe2, 0x55, 0x48, 0x89,
        0xe5, 0x56, 0x57, 0x50, 0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0x75, 0xe0, 0x90},
       {{0, kEntered},
        {4, kEntered},
        {8, kEntered},
        {23, kEntered},
        {24, kPushed},
        {27, kSet},
        {28, kSet},
        {34, kWhole},
        {38, kWhole}}},
      {"Node20Turbofan",
       {0x48, 0x8b, 0x59, 0xf8, 0xf6, 0x43, 0x35, 0x01, 0x0f, 0x85, 0x72, 0x68, 0xe2, 0x1f, 0x55,
        0x48, 0x89, 0xe5, 0x56, 0x57, 0x50, 0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0x75, 0xe0, 0x90},
       {{0, kEntered},
        {4, kEntered},
        {8, kEntered},
        {14, kEntered},
        {15, kPushed},
        {18, kSet},
        {19, kSet},
        {25, kWhole},
        {29, kWhole}}},
      {"Node24Turbofan",
       {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0x50, 0x48, 0x83, 0xec, 0x28, 0x48, 0x89,
        0x75, 0xd8, 0x49, 0x3b, 0x65, 0xa0, 0x0f, 0x86, 0xe3, 0x01, 0x00, 0x00},
       {{0, kEntered}, {1, kPushed}, {4, kSet}, {5, kSet}, {11, kWhole}, {15, kWhole}}},
      {"Node16Sparkplug",
       {0xbb, 0x60, 0,    0,    0, 0x49, 0xbc, 1, 2,    3,    4,    5,    6,    0,
        0,    0x41, 0xff, 0x95, 0, 0x39, 0,    0, 0x50, 0x50, 0x4c, 0x8b, 0x45, 0xf8},
       {{0, kEntered}, {5, kEntered}, {15, kEntered}, {22, kWhole}, {23, kWhole}, {24, kWhole}}},
      {"Node26Sparkplug",
       {0x33, 0xdb, 0x49, 0xbc, 0xe9, 0xfa, 0x62, 0xf9, 0x4a, 0x29, 0,
        0,    0xe8, 0x6f, 0xec, 0xdc, 0x1f, 0x48, 0x8b, 0x5d, 0xd0},
       {{0, kEntered}, {2, kEntered}, {12, kEntered}, {17, kWhole}}},
      {"Epilogue",
       {0x33, 0xc0, 0x48, 0x8b, 0x4d, 0xe8, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83,
        0xf9, 0x03, 0x7f, 0x03, 0xc2, 0x18, 0x00, 0x41, 0x5a, 0x48, 0x8d, 0x24,
        0xcc, 0x41, 0x52, 0xc3, 0x48, 0x8b, 0x4d, 0x18, 0x48, 0xc1, 0xe9, 0x20},
       {{0, kWhole},
        {2, kWhole},
        {6, kWhole},
        {9, kWhole},
        {10, kPopped},
        {14, kPopped},
        {16, kPopped},
        {19, kPopped},
        {21, kReturnInR10},
        {25, kReturnInR10},
        {27, kDropped},
        {28, kWhole},
        {32, kWhole}}},
      {"JumpInPlaceOfACall",
       {0x48, 0x8b, 0xe5, 0x5d, 0x41, 0xff, 0xe2, 0x90, 0x41, 0xff, 0xe2},
       {{0, kWhole}, {3, kWhole}, {4, kPopped}, {8, kWhole}}},
      {"ShortEpilogue",
       {0x33, 0xc0, 0x48, 0x8b, 0xe5, 0x5d, 0xc3, 0x90, 0x33, 0xc0},
       {{0, kWhole}, {2, kWhole}, {5, kWhole}, {6, kPopped}, {8, kWhole}}},
  };
}

class V8Leaf : public V8Step, public testing::WithParamInterface<Code> {};

TEST_P(V8Leaf, IsLeftAtEachInstruction) {
  const Code& code = GetParam();
  // What lies before and behind is no code.
  std::vector<u8> memory(V8_CODE_BEFORE + code.bytes.size() + V8_CODE_BYTES, 0xcc);
  std::ranges::copy(code.bytes, memory.begin() + V8_CODE_BEFORE);
  for (const auto& [offset, stack] : code.instructions) {
    SCOPED_TRACE(offset);
    SetUp();
    const u64 caller = At(60);
    size_t sp = kRecord - 8, callers_sp = kRecord + 2;
    u64 fp = At(kRecord);
    s_->regs.r[5] = Tagged(function_);
    switch (stack) {
      case Stack::kEntered: sp = kRecord + 1, fp = caller; break;
      case Stack::kPushed: sp = kRecord, fp = At(61), stack_[kRecord] = caller; break;
      case Stack::kSet: sp = kRecord - 1, stack_[kRecord - 2] = 6; break;
      case Stack::kWhole: s_->regs.r[5] = 6; break;
      case Stack::kPopped: sp = kRecord + 1, fp = caller, s_->regs.r[5] = 6; break;
      case Stack::kReturnInR10:
        sp = callers_sp = kRecord + 5, fp = caller, s_->regs.r[10] = kReturn;
        break;
      case Stack::kDropped:
        sp = kRecord + 5, callers_sp = sp + 1, fp = caller, stack_[sp] = kReturn;
        break;
    }
    const bool has_record = stack == Stack::kSet || stack == Stack::kWhole;
    s_->regs.r[UNWIND_FP] = fp;
    ASSERT_EQ(Step(reinterpret_cast<u64>(&memory[V8_CODE_BEFORE + offset]), true, sp), END_NONE);
    ExpectCaller(kReturn, has_record ? kCallersFp : caller, At(callers_sp));
    const bool is_known = stack != Stack::kReturnInR10 && stack != Stack::kDropped;
    EXPECT_EQ(Named().shared_function, is_known ? Shared() : 0);
    EXPECT_FALSE(Named().is_return);
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, V8Leaf, testing::ValuesIn(Codes()),
                         [](const auto& code) { return std::string(code.param.name); });

// Sparkplug's prologue is a builtin, which makes the frame of what has called it.
TEST_F(V8Step, BelowSparkplugsPrologueAFrameIsThereOrNot) {
  const std::vector<u8> code = {0x33, 0xdb, 0x49, 0xbc, 0xe9, 0xfa, 0x62, 0xf9, 0x4a,
                                0x29, 0,    0,    0xe8, 0x6f, 0xec, 0xdc, 0x1f};
  std::vector<u8> memory(V8_CODE_BEFORE, 0xcc);
  memory.insert(memory.end(), code.begin(), code.end());
  memory.insert(memory.end(), V8_CODE_BYTES, 0xcc);
  const u64 pc = reinterpret_cast<u64>(&memory[V8_CODE_BEFORE + code.size()]);
  const auto step = [&](size_t sp, u32 words) {
    s_->window_base = ~0ULL;
    s_->ranges[0].kind = RANGE_ANON;
    s_->regs.pc = pc;
    s_->regs.exact_pc = 0;
    s_->regs.r[5] = Tagged(function_);
    s_->regs.r[UNWIND_SP] = At(sp);
    s_->regs.r[UNWIND_FP] = At(kRecord);
    s_->word_count = words;
    return step_v8(s_.get());
  };
  stack_[10] = 0x7f0000001234;  // Where the function returns to.
  ASSERT_EQ(step(10, 2), END_NONE);
  ExpectCaller(0x7f0000001234, At(kRecord), At(11));
  EXPECT_EQ(Named().shared_function, Shared());
  ASSERT_EQ(step(kRecord - 5, 2), END_NONE);  // The frame is made.
  ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
  ASSERT_EQ(step(10, 3), END_NONE);  // Something else is called there.
  ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
}

TEST_F(V8Step, ALeafWhoseCodeCannotBeReadIsTakenAsWhole) {
  s_->regs.r[UNWIND_FP] = At(kRecord);
  ASSERT_EQ(Step(0x100, true, 8), END_NONE);
  EXPECT_EQ(Named().shared_function, Shared());
  ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
}

// Whatever lies on the stack: an end or a frame, and never a step down.
TEST_F(V8Step, AnyWordsAreAnswered) {
  u64 seed = 88172645463325252;
  const auto next = [&seed] {
    seed ^= seed << 13, seed ^= seed >> 7;
    return seed ^= seed << 17;
  };
  std::vector<u8> memory(256);
  for (int round = 0; round < 3'000; ++round) {
    for (u64& word : stack_) {
      const u64 kind = next() % 5;
      word = kind == 0   ? next()
             : kind == 1 ? At(next() % 64)
             : kind == 2 ? Tagged(function_)
                         : next() % 300;
    }
    for (u8& byte : memory) byte = static_cast<u8>(next() % 4 == 0 ? 0x5d : next());
    for (u64& reg : s_->regs.r) reg = next() % 2 == 0 ? next() : Tagged(bytecode_);
    s_->regs.r[UNWIND_FP] = next() % 3 == 0 ? next() : At(next() % 64);
    const size_t sp = next() % 56;
    const int end = Step(reinterpret_cast<u64>(&memory[64 + next() % 64]), next() % 2 == 0, sp,
                         next() % 2 == 0 ? RANGE_ANON : RANGE_FILE);
    if (end == END_NONE) {
      EXPECT_GE(s_->regs.r[UNWIND_SP], At(sp));
      EXPECT_EQ(s_->word_count, 2u);
    }
  }
}

}  // namespace
}  // namespace stackray::test
