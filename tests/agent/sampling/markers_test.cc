#include "agent/sampling/markers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "agent/sampling/made_code_name.h"
#include "bpf/shared/end_reason.h"
#include "profile/stack_end.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {
namespace {

std::string Text(MarkerKind kind, uint64_t detail) {
  const FrameKey key = FrameKey::Make(FrameType::kMarker, static_cast<uint64_t>(kind), detail);
  const FrameSymbols symbols = MarkerSymbols(key);
  EXPECT_EQ(symbols.type, FrameType::kMarker);
  EXPECT_EQ(symbols.mapping, 0u);
  EXPECT_EQ(symbols.lines.size(), 1u);
  return symbols.lines.at(0).function;
}

TEST(Markers, StandAtEveryCutAndNowhereElse) {
  constexpr uint32_t kWhole[] = {END_UNDEFINED_RA, END_NULL_RA};
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
    EXPECT_EQ(ClassOfMarker(MarkerSymbols(*marker).lines.at(0).function), MarkerClass::kUserCut)
        << end;
  }
  EXPECT_EQ(ClassOfEnd(END_NULL_FP), StackEnd::kGuessed);
  EXPECT_EQ(ClassOfEnd(END_GUESSED_NULL_RA), StackEnd::kGuessed);
  const auto of_kind = [](MarkerKind kind, uint64_t detail = 0) {
    return ClassOfMarker(Text(kind, detail));
  };
  EXPECT_EQ(of_kind(MarkerKind::kKernelCut), MarkerClass::kKernelCut);
  EXPECT_EQ(of_kind(MarkerKind::kNoStack), MarkerClass::kNoStack);
  EXPECT_EQ(of_kind(MarkerKind::kUnknownJit), MarkerClass::kUnknownCode);
  EXPECT_EQ(of_kind(MarkerKind::kNativeStackApart), MarkerClass::kBetween);
  EXPECT_EQ(of_kind(MarkerKind::kNoMapping), MarkerClass::kOther);
  EXPECT_EQ(of_kind(MarkerKind::kLost, 0), MarkerClass::kLost);
}

// It is neither cut nor whole: nobody could walk it.
TEST(Markers, OutsideThePidNamespaceIsSaid) {
  ASSERT_TRUE(MarkerForEnd(END_OUTSIDE_NAMESPACE).has_value());
  EXPECT_EQ(Text(MarkerKind::kTruncated, END_OUTSIDE_NAMESPACE), "[outside this pid namespace]");
  EXPECT_FALSE(HasUserStack(END_OUTSIDE_NAMESPACE));
  EXPECT_FALSE(IsCompleteEnd(END_OUTSIDE_NAMESPACE));
  EXPECT_EQ(EndName(END_OUTSIDE_NAMESPACE), "outside_pid_namespace");
  EXPECT_EQ(ClassOfMarker("[outside this pid namespace]"), MarkerClass::kOutside);
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
  EXPECT_EQ(Text(MarkerKind::kUnknownJit, 0), "[unknown jit]");
  EXPECT_EQ(Text(MarkerKind::kKernelCut, 0), "[truncated: kernel stack too deep]");
  EXPECT_EQ(Text(MarkerKind::kNoMapping, 0), "[unmapped code]");
  EXPECT_EQ(Text(MarkerKind::kNativeStackApart, 0), "[native stack of these functions]");
}

TEST(MadeCode, IsNamedByTheFunctionThatCallsNothingElse) {
  EXPECT_EQ(NameOfMadeCode("pcre2_jit_match_8"), "[pcre2 jit]");
  EXPECT_EQ(NameOfMadeCode("jit_machine_stack_exec"), "[pcre2 jit]");
  EXPECT_EQ(NameOfMadeCode("pcre2_match_8"), "") << "it calls callouts, which may be made code too";
  EXPECT_EQ(NameOfMadeCode(""), "");
}

}  // namespace
}  // namespace stackray
