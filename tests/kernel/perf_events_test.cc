#include "kernel/perf_events.h"

#include <gtest/gtest.h>

#include "bpf/shared/records.h"

namespace stackray {
namespace {

TEST(PageFaultPeriod, NamesItsSlotAndIsTheNearestThatDoes) {
  for (uint64_t wanted = 0; wanted < 1000; ++wanted) {
    const uint64_t period = ClosestPageFaultPeriod(wanted);
    EXPECT_EQ(period & EVENT_SLOT_MASK, uint64_t{EVENT_SLOT_PAGE_FAULTS}) << wanted;
    const uint64_t off = period > wanted ? period - wanted : wanted - period;
    EXPECT_LE(off, (EVENT_SLOT_MASK + 1) / 2) << wanted;
    EXPECT_EQ(ClosestPageFaultPeriod(period), period);
  }
  EXPECT_EQ(ClosestPageFaultPeriod(0), 1u);
  EXPECT_EQ(ClosestPageFaultPeriod(1), 1u);
  EXPECT_EQ(ClosestPageFaultPeriod(100), 97u);
  EXPECT_EQ(ClosestPageFaultPeriod(113), 113u);
}

TEST(ClockPeriod, IsInNanoseconds) {
  EXPECT_EQ(ClockPeriod(100), 10'000'000u);
  EXPECT_EQ(ClockPeriod(99), 10'101'010u);
}

}  // namespace
}  // namespace stackray
