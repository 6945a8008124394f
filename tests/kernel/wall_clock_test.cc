#include "kernel/wall_clock.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

TEST(BootTimeShift, IsThatOfTheBootTimeClock) {
  EXPECT_EQ(BootTimeShiftIn("monotonic           0         0\nboottime            0         0\n"),
            0);
  EXPECT_EQ(BootTimeShiftIn("monotonic  7  8\nboottime  100000  5\n"), 100'000'000'000'005);
  EXPECT_EQ(BootTimeShiftIn("monotonic  7  8\nboottime  -3600  500000000\n"), -3'599'500'000'000);
}

TEST(BootTimeShift, NothingIsMadeOfDamage) {
  for (const char* text :
       {"", "boottime", "boottime  ", "boottime 1", "boottime x 0", "boottime 1 -1",
        "boottime 1 1000000000", "boottime 9223372036854775807 0"})
    EXPECT_EQ(BootTimeShiftIn(text), 0) << text;
}

TEST(BootTimeShift, OutsideANamespaceTheClocksAgree) {
  EXPECT_GT(BootTimeNs(), 0u);
  EXPECT_GT(WallOffsetNs(), 1'500'000'000'000'000'000);
}

}  // namespace
}  // namespace stackray
