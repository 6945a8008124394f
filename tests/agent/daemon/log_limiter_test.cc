#include "agent/log_limiter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

using std::chrono::seconds;

class Limiter : public testing::Test {
 protected:
  // Lines shown of `lines` at one moment.
  int Shown(std::string_view kind, int lines) {
    int shown = 0;
    for (int i = 0; i < lines; ++i) shown += limiter_.Ask(kind, "text", now_).has_value() ? 1 : 0;
    return shown;
  }
  LogLimiter limiter_;
  LogLimiter::Time now_{seconds(1000)};
};

TEST_F(Limiter, FiveAtOnceThenOneAMinute) {
  EXPECT_EQ(Shown("a", 20), LogLimiter::kBurst);
  now_ += seconds(59);
  EXPECT_EQ(Shown("a", 3), 0);
  now_ += seconds(1);
  EXPECT_EQ(Shown("a", 3), 1);
  now_ += seconds(3600);
  EXPECT_EQ(Shown("a", 20), LogLimiter::kBurst);
}

TEST_F(Limiter, KindsDoNotDisturbEachOther) {
  EXPECT_EQ(Shown("a", 20), LogLimiter::kBurst);
  EXPECT_EQ(Shown("b", 20), LogLimiter::kBurst);
}

TEST_F(Limiter, TheNextLineSaysHowManyWereHeldBack) {
  for (int i = 0; i < LogLimiter::kBurst; ++i) EXPECT_EQ(limiter_.Ask("a", "text", now_), 0u);
  EXPECT_EQ(Shown("a", 7), 0);
  now_ += LogLimiter::kInterval;
  EXPECT_EQ(limiter_.Ask("a", "text", now_), 7u);
  EXPECT_TRUE(limiter_.TakeAll().empty());  // It was said.
  EXPECT_EQ(limiter_.held_back_in_all(), 7u);
}

TEST_F(Limiter, WhatStaysSilentIsSaidAfterAMinute) {
  Shown("a", LogLimiter::kBurst + 2);
  limiter_.Ask("a", "the last one", now_);
  EXPECT_TRUE(limiter_.TakeHeldBack(now_ + seconds(59)).empty());
  const auto held = limiter_.TakeHeldBack(now_ + seconds(60));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].lines, 3u);
  EXPECT_EQ(held[0].text, "the last one");
  EXPECT_TRUE(limiter_.TakeHeldBack(now_ + seconds(600)).empty());
}

TEST_F(Limiter, NothingIsForgottenUnsaid) {
  const int kinds = static_cast<int>(LogLimiter::kMaxKinds) * 3;
  for (int i = 0; i < kinds; ++i) Shown(fmt::format("kind {}", i), LogLimiter::kBurst + 1);
  uint64_t lines = 0;
  for (const auto& held : limiter_.TakeAll()) lines += held.lines;
  // Of the oldest kinds the table and the list of forgotten ones hold 256 each.
  EXPECT_EQ(lines, 2 * LogLimiter::kMaxKinds);
  EXPECT_EQ(limiter_.held_back_in_all(), static_cast<uint64_t>(kinds));
}

}  // namespace
}  // namespace stackray
