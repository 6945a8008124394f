// Functions that await those of a stack (bpf/v8_async.h), over a made-up heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/interpreters/v8/made_stack.h"

namespace stackray::test {
namespace {

constexpr u16 kAsyncFunction = 2106, kPromise = 2063, kReaction = 163, kOther = 99;
constexpr u64 kResolve = u64{236} << 32, kReject = u64{235} << 32;
constexpr u64 kResolveAt = 0x9000, kRejectAt = 0x9800;  // Where they lie in the file.
constexpr u64 kUndefined = 0x10001;

constexpr u64 Smi(int value) { return static_cast<u64>(static_cast<u32>(value)) << 32; }

// A function that waits, or runs: all of the objects that say so.
struct Async {
  std::array<u64, 16> generator{}, function{}, shared{}, promise{}, reaction{}, handler{},
      context{};
};

class V8Async : public V8Step, public testing::WithParamInterface<bool> {
 protected:
  // V8 before and from 12.4 on: what lies in front of a reaction's words.
  u16 Next() const { return GetParam() ? 16 : 8; }

  void SetUp() override {
    V8Step::SetUp();
    v8_process& process = s_->stack.process.v8;
    process.await_begin[0] = kResolveAt, process.await_end[0] = kResolveAt + 256;
    process.await_begin[1] = kRejectAt, process.await_end[1] = kRejectAt + 256;
    process.async_function_type = kAsyncFunction;
    process.promise_type = kPromise;
    process.reaction_type = kReaction;
    process.map_type = 12;
    process.function_context = 40;
    process.shared_builtin = 16;
    process.reaction_next = static_cast<u8>(Next());
    for (size_t i = 0; i < kTypes.size(); ++i)
      std::memcpy(reinterpret_cast<u8*>(maps_.at(i).data()) + 12, &kTypes.at(i), sizeof(u16));
    // Which builtin a handler is, says its SharedFunctionInfo.
    resolve_[2] = kResolve, reject_[2] = kReject;
    chain_ = {};
    for (int i = 0; i < 4; ++i) Make(&chain_[static_cast<size_t>(i)], i);
    for (size_t i = 0; i + 1 < chain_.size(); ++i) Await(&chain_[i + 1], &chain_[i]);
    Run(&chain_[0]);
    stack_[kRecord - 1] = Tagged(chain_[0].context);
    stack_[kRecord - 2] = Tagged(chain_[0].handler);
  }

  u64 MapOf(u16 type) const {
    return Tagged(maps_.at(static_cast<size_t>(std::ranges::find(kTypes, type) - kTypes.begin())));
  }
  // Number `i` waits at its bytecode 10 + i.
  void Make(Async* async, int i) const {
    async->shared[kCheck / 8] = 0x1000U + static_cast<u64>(i);
    async->function[kShared / 8] = Tagged(async->shared);
    async->generator[0] = MapOf(kAsyncFunction);
    async->generator[3] = Tagged(async->function);
    async->generator[6] = Smi(kHeader - 1 + 10 + i);
    async->generator[8] = Smi(i);
    async->generator[10] = Tagged(async->promise);
    async->promise[0] = MapOf(kPromise);
    async->handler[kShared / 8] = Tagged(resolve_);
    async->handler[5] = Tagged(async->context);
    async->context[4] = Tagged(async->generator);
  }
  void React(Async* to, u64 fulfill, u64 promise) const {
    to->reaction = {};
    to->reaction[0] = MapOf(kReaction);
    to->reaction[Next() / 8U + 2] = fulfill;
    to->reaction[Next() / 8U + 3] = promise;
    to->promise[3] = Tagged(to->reaction);
  }
  void Await(Async* who, Async* whom) const { React(whom, Tagged(who->handler), kUndefined); }
  static void Run(Async* who) {
    who->generator[6] = kUndefined;
    who->generator[8] = Smi(-2);
  }

  // How many frames there are in front of the builtin's own.
  size_t Leave(u64 pc = kResolveAt + 5) {
    s_->window_base = ~0ULL;
    s_->ranges[0].kind = RANGE_FILE;
    s_->regs.pc = pc;
    s_->regs.exact_pc = 0;
    s_->regs.r[UNWIND_SP] = At(8);
    s_->regs.r[UNWIND_FP] = At(kRecord);
    s_->body[0] = kOwnWord;
    s_->word_count = 1;
    s_->extra_words = 0;
    EXPECT_EQ(step_v8(s_.get()), END_NONE);
    ExpectCaller(kReturn, kCallersFp, At(kRecord + 2));
    EXPECT_EQ(s_->word_count, 2 * s_->extra_words + 1);
    EXPECT_EQ(s_->body[s_->word_count - 1], kOwnWord);
    return s_->extra_words;
  }
  // The functions of the frames, by their numbers.
  std::vector<int> Walk(u64 pc = kResolveAt + 5) {
    std::vector<int> frames;
    Leave(pc);
    for (u32 at = 0; at + 2 < s_->word_count; at += 2) {
      const V8Frame frame = v8::UnpackFrame(s_->body[at] & FRAME_OFFSET_MASK, s_->body[at + 1]);
      EXPECT_EQ(frame.kind, V8Frame::Kind::kAwaiting);
      const int number = static_cast<int>(frame.check) - 0x1000;
      EXPECT_EQ(frame.shared_function, Tagged(chain_.at(static_cast<size_t>(number)).shared) - 1);
      EXPECT_EQ(frame.bytecode_offset, 10 + number);
      frames.push_back(number);
    }
    return frames;
  }

  static constexpr u64 kOwnWord = 0x1234;
  static constexpr std::array kTypes = {kAsyncFunction, kPromise, kReaction, kOther};
  std::array<Async, 4> chain_{};
  std::array<Object, 4> maps_{};
  Object resolve_{}, reject_{};
};

using Numbers = std::vector<int>;

TEST_P(V8Async, FunctionsThatAwaitComeBehindWhatTheyAwait) {
  EXPECT_EQ(Walk(), (Numbers{1, 2, 3}));
  // Where the promise was broken, another builtin resumes the function.
  chain_[0].handler[kShared / 8] = Tagged(reject_);
  EXPECT_EQ(Walk(kRejectAt + 5), (Numbers{1, 2, 3}));
  EXPECT_EQ(Walk(kResolveAt + 5), Numbers{});
}

TEST_P(V8Async, APromiseThatHandsOnLeadsToTheNext) {
  React(&chain_[0], kUndefined, Tagged(chain_[1].promise));  // 1 has returned 0's promise.
  EXPECT_EQ(Walk(), (Numbers{2, 3}));
}

TEST_P(V8Async, WhereNobodyAwaitsIsTheEnd) {
  chain_[1].promise[3] = 0;
  EXPECT_EQ(Walk(), (Numbers{1}));
  chain_[0].promise[4] = Smi(1);  // It is kept already.
  EXPECT_EQ(Walk(), Numbers{});
}

TEST_P(V8Async, OnlyOneCanBeTheCaller) {
  chain_[1].reaction[Next() / 8U] = Tagged(chain_[3].reaction);
  EXPECT_EQ(Walk(), (Numbers{1}));
}

TEST_P(V8Async, AFunctionThatDoesNotWaitAwaitsNobody) {
  for (const u64 continuation : {Smi(-1), Smi(-2), u64{5}, Tagged(context_)}) {
    chain_[2].generator[8] = continuation;
    EXPECT_EQ(Walk(), (Numbers{1})) << continuation;
  }
  SetUp();
  chain_[0].generator[8] = Smi(3);  // The one that was resumed waits again.
  EXPECT_EQ(Walk(), Numbers{});
}

TEST_P(V8Async, WhatHasAnotherTypeIsNotFollowed) {
  chain_[2].generator[0] = MapOf(kOther);
  EXPECT_EQ(Walk(), (Numbers{1}));
  SetUp();
  chain_[1].promise[0] = MapOf(kOther);
  EXPECT_EQ(Walk(), (Numbers{1}));
  SetUp();
  chain_[1].reaction[0] = MapOf(kOther);
  EXPECT_EQ(Walk(), (Numbers{1}));
  SetUp();
  chain_[2].handler[kShared / 8] = Tagged(reject_);  // A handler of another kind.
  EXPECT_EQ(Walk(), (Numbers{1}));
}

TEST_P(V8Async, ARingOfPromisesEnds) {
  React(&chain_[3], kUndefined, Tagged(chain_[0].promise));
  const Numbers frames = Walk();
  EXPECT_EQ(frames.size(), 36U);  // Of 48 steps each fourth hands on.
}

TEST_P(V8Async, OtherFramesOfTheBuiltinAreLeftAlone) {
  for (const u64 context : {u64{0}, u64{20}, u64{0x7fffffff0001}}) {
    stack_[kRecord - 1] = context;
    EXPECT_EQ(Walk(), Numbers{});
  }
}

// Each word of the heap replaced by each of these.
TEST_P(V8Async, DamageCostsFramesAlone) {
  auto* const words = reinterpret_cast<u64*>(chain_.data());
  int cut = 0;
  for (size_t i = 0; i < sizeof(chain_) / sizeof(u64); ++i)
    for (const u64 other : {u64{0}, ~u64{0}, Smi(-1), u64{0x7fffffff0001}}) {
      const u64 was = std::exchange(words[i], other);
      const size_t frames = Leave();
      EXPECT_LE(frames, 3U);
      cut += frames < 3 ? 1 : 0;
      words[i] = was;
    }
  EXPECT_GT(cut, 50);
  EXPECT_EQ(Walk(), (Numbers{1, 2, 3}));
}

INSTANTIATE_TEST_SUITE_P(Generations, V8Async, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "From12_4" : "Before");
});

}  // namespace
}  // namespace stackray::test
