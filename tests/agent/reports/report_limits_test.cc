#include "agent/reports/report_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000'000, kMinute = 60'000, kDay = 86'400'000;

class ReportLimitsTest : public testing::Test {
 protected:
  ReportLimits Make() { return ReportLimits(directory_.path(), directory_.File("host-lock")); }
  const test::TemporaryDirectory directory_;
  ReportSettings settings_{.distance_ms = 10 * kMinute, .most_a_day = 3};
};

TEST_F(ReportLimitsTest, OneAtATimeAlsoAcrossAgents) {
  ReportLimits one = Make(), other = Make();
  ASSERT_TRUE(one.Begin(settings_, "a", true, kNow).ok());
  EXPECT_THAT(std::string(one.Begin(settings_, "b", true, kNow).message()),
              HasSubstr("this agent"));
  EXPECT_THAT(std::string(other.Begin(settings_, "b", true, kNow).message()),
              HasSubstr("another agent"));
  one.End();
  EXPECT_TRUE(other.Begin(settings_, "b", true, kNow).ok());
}

TEST_F(ReportLimitsTest, DistanceIsOfOneTriggerAndNotOfRequests) {
  ReportLimits limits = Make();
  ASSERT_TRUE(limits.Begin(settings_, "a", false, kNow).ok());
  limits.End();
  EXPECT_FALSE(limits.Begin(settings_, "a", false, kNow + 9 * kMinute).ok());
  EXPECT_FALSE(limits.Begin(settings_, "a", false, kNow - kMinute).ok());  // The clock was set.
  EXPECT_TRUE(limits.Begin(settings_, "a", true, kNow + kMinute).ok());
  limits.End();
  EXPECT_TRUE(limits.Begin(settings_, "b", false, kNow + kMinute).ok());
  limits.End();
  EXPECT_TRUE(limits.Begin(settings_, "a", false, kNow + 10 * kMinute).ok());
}

TEST_F(ReportLimitsTest, ARestartForgetsNothing) {
  {
    ReportLimits limits = Make();
    ASSERT_TRUE(limits.Begin(settings_, "a", false, kNow).ok());
  }
  ReportLimits limits = Make();
  EXPECT_FALSE(limits.Begin(settings_, "a", false, kNow + kMinute).ok());
  EXPECT_TRUE(limits.Begin(settings_, "b", false, kNow + kMinute).ok());
}

TEST_F(ReportLimitsTest, ANumberADay) {
  ReportLimits limits = Make();
  for (const char* trigger : {"a", "b", "c"}) {
    ASSERT_TRUE(limits.Begin(settings_, trigger, false, kNow).ok());
    limits.End();
  }
  EXPECT_THAT(std::string(limits.Begin(settings_, "d", false, kNow + kMinute).message()),
              HasSubstr("3 reports"));
  EXPECT_TRUE(limits.Begin(settings_, "d", true, kNow + kMinute).ok());
  limits.End();
  EXPECT_TRUE(limits.Begin(settings_, "d", false, kNow + kDay).ok());
}

TEST_F(ReportLimitsTest, DamagedMemoryCountsAsNone) {
  for (const char* text : {"", "{", "[1,2]", "[{\"trigger\":3}]", "[{\"trigger\":\"a\"}]",
                           "[{\"trigger\":\"a\",\"unix_ms\":\"x\"}]", "[[[[[[[", "\xff\xfe"}) {
    directory_.Write("made.json", text);
    ReportLimits limits = Make();
    EXPECT_TRUE(limits.Begin(settings_, "a", false, kNow).ok()) << text;
  }
}

}  // namespace
}  // namespace stackray
