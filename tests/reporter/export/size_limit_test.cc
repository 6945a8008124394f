#include "reporter/export/size_limit.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

constexpr ExportClock::Time kStart{std::chrono::hours(1000)};

TEST(SizeLimit, NothingIsSplitBeforeARefusal) {
  SizeLimit limit;
  limit.Taken(1 << 30);
  EXPECT_FALSE(limit.MustSplit(1 << 30, false, kStart));
  EXPECT_EQ(limit.bytes(), 0u);
}

TEST(SizeLimit, ANamedOneIsKept) {
  SizeLimit limit;
  limit.Refused(5'000'000, 4'194'304, kStart);
  EXPECT_EQ(limit.bytes(), 4'194'304u);
  for (const bool is_part : {false, true}) {
    EXPECT_FALSE(limit.MustSplit(4'194'304, is_part, kStart));
    EXPECT_TRUE(limit.MustSplit(4'194'305, is_part, kStart));
  }
  EXPECT_TRUE(limit.MustSplit(4'194'305, false, kStart + std::chrono::hours(100)));
  limit.Taken(4'194'305);
  EXPECT_EQ(limit.bytes(), 0u);
}

TEST(SizeLimit, AnUnnamedOneIsApproachedFromBothSides) {
  SizeLimit limit;
  limit.Refused(1000, 0, kStart);
  EXPECT_EQ(limit.bytes(), 500u);
  EXPECT_FALSE(limit.MustSplit(600, true, kStart));  // A part, and smaller than what failed.
  EXPECT_TRUE(limit.MustSplit(600, false, kStart));
  EXPECT_TRUE(limit.MustSplit(1000, true, kStart));
  limit.Taken(600);
  EXPECT_EQ(limit.bytes(), 600u);
  EXPECT_FALSE(limit.MustSplit(600, false, kStart));
  limit.Refused(700, 0, kStart);
  EXPECT_EQ(limit.bytes(), 600u);
  limit.Refused(580, 0, kStart);  // It shrank.
  EXPECT_EQ(limit.bytes(), 290u);
}

TEST(SizeLimit, AnUnnamedOneIsForgottenAfterAnHour) {
  SizeLimit limit;
  limit.Refused(1000, 0, kStart);
  EXPECT_TRUE(limit.MustSplit(1000, false, kStart + std::chrono::minutes(59)));
  EXPECT_FALSE(limit.MustSplit(1000, false, kStart + std::chrono::minutes(60)));
  EXPECT_EQ(limit.bytes(), 0u);
}

TEST(SizeLimit, ALimitThatContradictsTheRefusalIsNotBelieved) {
  SizeLimit limit;
  limit.Refused(1000, 4'194'304, kStart);
  EXPECT_EQ(limit.bytes(), 500u);
}

}  // namespace
}  // namespace stackray
