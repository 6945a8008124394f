#include "agent/sampling/markers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "agent/sampling/made_code_name.h"
#include "bpf/shared/end_reason.h"
#include "profile/marker.h"
#include "profile/stack_end.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {
namespace {

std::string Text(MarkerKind kind, uint64_t detail) {
  const FrameSymbols symbols = MarkerSymbols(MarkerKey(kind, detail));
  EXPECT_EQ(symbols.marker.kind, kind);
  EXPECT_EQ(symbols.type, FrameType::kMarker);
  EXPECT_EQ(symbols.mapping, 0u);
  EXPECT_EQ(symbols.lines.size(), 1u);
  return symbols.lines.at(0).function;
}

TEST(Markers, StandAtEveryCutAndNowhereElse) {
  constexpr uint32_t kWhole[] = {END_UNDEFINED_RA, END_NULL_RA, END_NULL_RECORD};
  constexpr uint32_t kNoStack[] = {END_KERNEL_THREAD, END_NO_ADDRESS_SPACE};
  for (uint32_t end : kWhole) EXPECT_EQ(MarkerForEnd(end), std::nullopt) << end;
  for (uint32_t end : kNoStack) EXPECT_EQ(MarkerForEnd(end), std::nullopt) << end;
  std::set<std::string> texts;
  for (uint32_t end = END_READ_FAULT; end <= END_BAD_TABLE; ++end) {
    const auto marker = MarkerForEnd(end);
    ASSERT_TRUE(marker.has_value()) << end;
    const std::string text = MarkerSymbols(*marker).lines.at(0).function;
    EXPECT_TRUE(text.starts_with("[truncated: ") && text.ends_with("]")) << text;
    EXPECT_EQ(text.find("unknown reason"), std::string::npos) << end;
    EXPECT_TRUE(texts.insert(text).second) << text << " twice";
  }
  // What looks like an end, and was found by a guess.
  EXPECT_EQ(Text(MarkerKind::kTruncated, END_NULL_FP), "[truncated: frame pointer is 0]");
  EXPECT_EQ(Text(MarkerKind::kTruncated, END_GUESSED_NULL_RA),
            "[truncated: guessed return address is 0]");
  EXPECT_TRUE(MarkerForEnd(END_COMPAT_TASK).has_value());
  EXPECT_EQ(Text(MarkerKind::kTruncated, END_COMPAT_TASK), "[truncated: 32-bit code]");
}

// Who counts by reason and who counts by marker agree, for every reason that there can be.
TEST(Markers, SayWhatTheirEndSays) {
  for (uint32_t end = 1; end < END_REASON_COUNT; ++end) {
    const StackEnd expected = ClassOfEnd(end);
    EXPECT_EQ(IsCompleteEnd(end), expected == StackEnd::kComplete) << end;
    const bool has_none = expected == StackEnd::kNoStack || expected == StackEnd::kOutside;
    EXPECT_EQ(HasUserStack(end), !has_none) << end;
    const auto marker = MarkerForEnd(end);
    if (expected == StackEnd::kOutside) continue;
    const bool is_whole_or_none = expected == StackEnd::kComplete || expected == StackEnd::kNoStack;
    ASSERT_EQ(marker.has_value(), !is_whole_or_none) << end;
    if (!marker) continue;
    EXPECT_EQ(MarkerSymbols(*marker).marker.kind, MarkerKind::kTruncated) << end;
  }
  EXPECT_EQ(ClassOfEnd(END_NULL_FP), StackEnd::kGuessed);
  EXPECT_EQ(ClassOfEnd(END_GUESSED_NULL_RA), StackEnd::kGuessed);
}

// Batches from before the attribute are read by their text, which says the same kind.
TEST(Markers, AreReadByAttributeAndByText) {
  constexpr MarkerKind kKinds[] = {
      MarkerKind::kLost,     MarkerKind::kTruncated, MarkerKind::kKernelCut,
      MarkerKind::kNoStack,  MarkerKind::kOutside,   MarkerKind::kUnknownCode,
      MarkerKind::kUnmapped, MarkerKind::kBetween,   MarkerKind::kUnsupported};
  for (const MarkerKind kind : kKinds) {
    const FrameSymbols symbols = MarkerSymbols(MarkerKey(kind, 0));
    const std::string value = MarkerValue(symbols.marker), text = symbols.lines.at(0).function;
    EXPECT_EQ(ReadMarker(value, "abort-marker", "any text"), kind) << value;
    EXPECT_EQ(ReadMarker("", "abort-marker", text), kind) << text;
    EXPECT_EQ(MarkerReasonOf(value), symbols.marker.reason);
  }
  EXPECT_EQ(MarkerValue(MarkerSymbols(MarkerKey(MarkerKind::kLost, 0)).marker), "lost/ring full");
  EXPECT_EQ(MarkerValue(MarkerSymbols(MarkerKey(MarkerKind::kNoStack)).marker), "no_stack");
  EXPECT_EQ(ReadMarker("", "abort-marker", "[python 3.99 unsupported]"), MarkerKind::kUnsupported);
  EXPECT_EQ(ReadMarker("", "cpython", "[stale]"), MarkerKind::kStale);
  EXPECT_EQ(ReadMarker("", "cpython", "[gone]"), MarkerKind::kGone);
  EXPECT_EQ(ReadMarker("", "native", "[inode 12+0x34]"), MarkerKind::kFileGone);
  EXPECT_EQ(ReadMarker("", "native", "[pcre2 jit]"), MarkerKind::kJitCode);
  EXPECT_EQ(ReadMarker("", "native", "[lost: ring full]"), MarkerKind::kNone);
  EXPECT_EQ(ReadMarker("", "native", "main"), MarkerKind::kNone);
  EXPECT_EQ(ReadMarker("", "abort-marker", ""), MarkerKind::kOther);
  EXPECT_EQ(ReadMarker("new_kind/why", "abort-marker", ""), MarkerKind::kOther);
}

// It is neither cut nor whole: nobody could walk it.
TEST(Markers, OutsideThePidNamespaceIsSaid) {
  EXPECT_EQ(MarkerForEnd(END_OUTSIDE_NAMESPACE), MarkerKey(MarkerKind::kOutside));
  EXPECT_EQ(Text(MarkerKind::kOutside, 0), "[outside this pid namespace]");
  EXPECT_FALSE(HasUserStack(END_OUTSIDE_NAMESPACE));
  EXPECT_FALSE(IsCompleteEnd(END_OUTSIDE_NAMESPACE));
  EXPECT_EQ(EndName(END_OUTSIDE_NAMESPACE), "outside_pid_namespace");
}

TEST(Markers, NameEveryLoss) {
  EXPECT_EQ(Text(MarkerKind::kLost, 0), "[lost: ring full]");
  EXPECT_EQ(Text(MarkerKind::kLost, 1), "[lost: scratch busy]");
  EXPECT_EQ(Text(MarkerKind::kLost, 2), "[lost: damaged record]");
  std::set<std::string> texts;
  for (uint64_t reason = 0; reason < kLossReasons; ++reason) {
    const std::string text = Text(MarkerKind::kLost, kFirstDeliveryLoss + reason);
    EXPECT_EQ(text.find("unknown reason"), std::string::npos) << reason;
    EXPECT_TRUE(texts.insert(text).second) << text << " twice";
  }
  EXPECT_EQ(Text(MarkerKind::kLost, 15), "[lost: unknown reason]");
}

TEST(Markers, OfOtherKinds) {
  EXPECT_EQ(Text(MarkerKind::kUnknownCode, 0), "[unknown jit]");
  EXPECT_EQ(Text(MarkerKind::kKernelCut, 0), "[truncated: kernel stack too deep]");
  EXPECT_EQ(Text(MarkerKind::kUnmapped, 0), "[unmapped code]");
  EXPECT_EQ(Text(MarkerKind::kBetween, 0), "[native stack of these functions]");
}

TEST(MadeCode, IsNamedByTheFunctionThatCallsNothingElse) {
  EXPECT_EQ(NameOfMadeCode("pcre2_jit_match_8"), "pcre2");
  EXPECT_EQ(NameOfMadeCode("jit_machine_stack_exec"), "pcre2");
  EXPECT_EQ(NameOfMadeCode("pcre2_match_8"), "") << "it calls callouts, which may be made code too";
  EXPECT_EQ(NameOfMadeCode(""), "");
}

}  // namespace
}  // namespace stackray
