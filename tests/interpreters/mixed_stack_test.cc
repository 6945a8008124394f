#include "interpreters/mixed_stack.h"

#include <gtest/gtest.h>

#include <string>

#include "bpf/shared/records.h"

namespace stackray::test {
namespace {

// Stacks as text: a letter is a native frame, upper case a loop's, E what enters a loop (`+`: taken
// for a part of it); a digit is a Python frame; `*` marks the native frame before it as placed by
// BPF; `|` closes a run of many loops, `!` one of one loop, `/` one with a marker, `$` one of the
// main program, `?` one of a callback, `&` one of its own loop or the next run's, `~` one without a
// loop. R is a loop that rejoins, I a link of it, Y what runs the main program. `@` gives the frame
// or the run before it to the other runtime, of range 1, whose only loop is Z.
std::vector<uint64_t> Words(const std::string& text) {
  std::vector<uint64_t> words;
  for (const char c : text) {
    if (c == '*') {
      words.back() |= uint64_t{FRAME_OF_RUNTIME} << FRAME_KIND_SHIFT;
    } else if (c == '@') {
      words.back() |= uint64_t{1} << FRAME_RANGE_SHIFT;
    } else if (c == '|' || c == '/' || c == '!' || c == '$' || c == '?' || c == '&' || c == '~') {
      const uint64_t place = c == '/'   ? 0x1000
                             : c == '!' ? RUN_OF_ONE_LOOP
                             : c == '$' ? RUN_OF_MAIN_LOOP
                             : c == '?' ? RUN_OF_CALLBACK
                             : c == '&' ? RUN_OF_NEXT_LOOP
                             : c == '~' ? RUN_OF_NO_LOOP
                                        : RUN_OF_MANY_LOOPS;
      words.push_back(uint64_t{FRAME_RUN_END} << FRAME_KIND_SHIFT | place);
    } else if (c >= '0' && c <= '9') {
      words.push_back(uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT | static_cast<uint64_t>(c));
      words.push_back(static_cast<uint64_t>(c));
    } else {
      words.push_back(static_cast<uint64_t>(c));
    }
  }
  return words;
}

std::string Mixed(const std::string& text, bool is_whole = true) {
  std::vector<MixedFrame> frames;
  MixFrames(
      Words(text), is_whole,
      [](uint64_t word, uint32_t range) {
        const uint64_t c = word & 0xff;
        if (range == 1) return c == 'Z' ? LoopPart::kLoop : LoopPart::kNone;
        return c == 'Z'               ? LoopPart::kNone
               : c == 'E'             ? LoopPart::kEntry
               : c == 'R'             ? LoopPart::kRejoiningLoop
               : c == 'I'             ? LoopPart::kLink
               : c == 'Y'             ? LoopPart::kMain
               : c == 'J'             ? LoopPart::kMade
               : c >= 'A' && c <= 'Z' ? LoopPart::kLoop
                                      : LoopPart::kNone;
      },
      &frames);
  std::string result;
  for (const MixedFrame& frame : frames) {
    result += static_cast<char>(frame.word & 0xff);
    if (frame.is_runtime) {
      EXPECT_EQ(frame.second, frame.word & 0xff);
      if (frame.range == 1) result += '@';
    }
    if (frame.is_loop) result += '*';
    if (frame.is_entry) result += '+';
    if (frame.is_apart) result += '^';
  }
  return result;
}

TEST(MixFrames, NativeFramesStayAsTheyAre) { EXPECT_EQ(Mixed("abc"), "abc"); }

TEST(MixFrames, WhatBpfPlacedIsTaken) { EXPECT_EQ(Mixed("a12L*b3M*c"), "a12L*b3M*c"); }

TEST(MixFrames, OneNativeFrameForEachFrame) { EXPECT_EQ(Mixed("aLbMc12|"), "a1L*b2M*c"); }

TEST(MixFrames, ALoopThatHasJustBegunHasNoFrameYet) { EXPECT_EQ(Mixed("LbMcNd12|"), "Lb1M*c2N*d"); }

// The native leaf is no caller of a frame of the runtime.
TEST(MixFrames, AFrameWithoutItsLoopIsTheInnermost) { EXPECT_EQ(Mixed("abLc12|"), "ab12L*c"); }

TEST(MixFrames, FramesWithoutAnyLoopStandAtTheRoot) {
  EXPECT_EQ(Mixed("abc12|"), "abc1^2^");
  EXPECT_EQ(Mixed("abc12!3!"), "abc1^2^3^");
  EXPECT_EQ(Mixed("abc12|", false), "abc12");  // Their loops are behind the cut.
}

// Compiled functions around interpreted ones: what BPF has placed is not given to others.
TEST(MixFrames, FramesThatNoLoopRunsStandAtTheRoot) {
  EXPECT_EQ(Mixed("abc12~"), "abc1^2^");
  EXPECT_EQ(Mixed("a1L*b23M*c4~"), "a1L*b23M*c4^");
  EXPECT_EQ(Mixed("a1L*bMc2|"), "a1L*b2M*c");
}

TEST(MixFrames, AStackCutAtTheRootIsMatchedFromTheLeaf) {
  EXPECT_EQ(Mixed("aLb123|", false), "a1L*b23");
  EXPECT_EQ(Mixed("aLbMc12|", false), "a1L*b2M*c");
}

TEST(MixFrames, OneNativeFrameForEachRun) {
  EXPECT_EQ(Mixed("aLbMc12!3!"), "a12L*b3M*c");
  EXPECT_EQ(Mixed("aLbMc12!"), "aLb12M*c");
  EXPECT_EQ(Mixed("abMc12!345!"), "ab12345M*c");
  EXPECT_EQ(Mixed("aLb1!23!", false), "a1L*b23");
}

TEST(MixFrames, WhatEntersALoopBelongsToIt) {
  EXPECT_EQ(Mixed("aLEbMEc12!3!"), "a12L*E+b3M*E+c");
  EXPECT_EQ(Mixed("aLEbEc12!3!"), "a12L*E+b3E*c");  // Code of a JIT has no frame of the loop.
  EXPECT_EQ(Mixed("LEbMEc1!"), "LEb1M*E+c");
  EXPECT_EQ(Mixed("aLbEc1!2!"), "a1L*b2E*c");  // Not right behind it: another one.
}

TEST(MixFrames, MadeCodeIsOfTheLoopThatHasCalledIt) {
  EXPECT_EQ(Mixed("aJLEbJEc12!3!"), "a12J*L+E+b3J*E+c");
  EXPECT_EQ(Mixed("aJbLEc1!"), "aJb1L*E+c");  // Of somebody else's.
}

TEST(MixFrames, RunsThatWereNeverReachedComeLast) {
  EXPECT_EQ(Mixed("a1L*b23/4/", false), "a1L*b234");
}

TEST(MixFrames, NoFrames) { EXPECT_EQ(Mixed(""), ""); }

TEST(MixFrames, ALoneFirstWordIsDropped) {
  std::vector<MixedFrame> frames;
  MixFrames(
      std::vector<uint64_t>{'a', uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT}, true,
      [](uint64_t, uint32_t) { return LoopPart::kNone; }, &frames);
  EXPECT_EQ(frames.size(), 1u);
}

// Perl: a loop that goes on with what another one has begun.
TEST(MixFrames, LoopsWithOneFrameBetweenThemAreOne) {
  EXPECT_EQ(Mixed("aRdRcdRYm12!3$"), "a12R*d+R+cd3R*Ym");
  EXPECT_EQ(Mixed("aRdRdRcdRYm1!2$"), "a1R*d+R+d+R+cd2R*Ym");
}

TEST(MixFrames, ALinkMayLieBetweenThemToo) {
  EXPECT_EQ(Mixed("aRdIRcdRYm1!2$"), "a1R*d+I+R+cd2R*Ym");
}

TEST(MixFrames, TheMainProgramIsDroppedWhereItDoesNotRun) {
  EXPECT_EQ(Mixed("aRcdRYm1!2$"), "a1R*cd2R*Ym");
  EXPECT_EQ(Mixed("aRcdRxYm1!2$"), "a1R*cd2R*xYm");
  EXPECT_EQ(Mixed("aRcdm1!2$"), "a1R*cdm");
  EXPECT_EQ(Mixed("aRcdm1!2$", false), "a1R*cdm2");  // Nobody knows what its root was.
}

TEST(MixFrames, ACallbackIsDroppedWhereItIsNotRun) {
  EXPECT_EQ(Mixed("aRcdRYm1?2$"), "a1R*cd2R*Ym");
  EXPECT_EQ(Mixed("acdRYm1?2$"), "acd2R*Ym");
  // The innermost run is C code's, called between two calls of the callback.
  EXPECT_EQ(Mixed("aRcdRYm1!2?3$"), "a1R*cd3R*Ym");
}

TEST(MixFrames, ARunMayShareTheNextOnesLoop) {
  EXPECT_EQ(Mixed("aRcdRYm1&2?3$"), "a12R*cd3R*Ym");
  EXPECT_EQ(Mixed("aRcdRefRYm1&2?3$"), "a1R*cd2R*ef3R*Ym");
}

// Two runtimes of which BPF has placed one's runs, or none's.
TEST(MixFrames, EachRuntimeHasLoopsOfItsOwn) {
  EXPECT_EQ(Mixed("aLbZcLdZe12!3!4!@5!@"), "a12L*b4@Z*c3L*d5@Z*e");
  EXPECT_EQ(Mixed("aLbZcLdZe4!@5!@12!3!"), "a12L*b4@Z*c3L*d5@Z*e");
  EXPECT_EQ(Mixed("a12Z@*bLc3Z@*dLe4!5!"), "a1@2@Z*b4L*c3@Z*d5L*e");
  EXPECT_EQ(Mixed("aLb12Z@*cLd3Z@*e4!"), "aLb1@2@Z*c4L*d3@Z*e");
}

TEST(MixFrames, TheOtherRuntimesFramesDoNotJoinLoops) {
  EXPECT_EQ(Mixed("aR1Z@*RbcRYm2!3!4$"), "a2R*1@Z*3R*bc4R*Ym");
}

TEST(MixFrames, TwoRuntimesOnAStackThatWasCut) {
  EXPECT_EQ(Mixed("aLbZc1!2!3!@4!@", false), "a1L*b3@Z*c24@");
  EXPECT_EQ(Mixed("abLc12!3!4!@", true), "ab123L*c4@^");
}

TEST(MixFrames, FramesOfNoKnownRuntime) {
  std::vector<MixedFrame> frames;
  const uint64_t runtime = uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT;
  MixFrames(
      std::vector<uint64_t>{'a', runtime | 5, 7}, false,
      [](uint64_t, uint32_t) { return LoopPart::kNone; }, &frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(frames[1].is_runtime);
  EXPECT_EQ(frames[1].range, kNoRange);
}

}  // namespace
}  // namespace stackray::test
