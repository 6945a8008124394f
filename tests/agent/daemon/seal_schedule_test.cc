// When batches are sealed: without receivers like a clock, with them not in step with anybody.
#include "agent/daemon/seal_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kInterval = 15'000'000'000, kStart = 7'000'000'000;

// A source of chance that says what the test wants, again and again.
SealSchedule::Random Saying(std::vector<double> numbers) {
  return [numbers = std::move(numbers), at = size_t{0}]() mutable {
    return numbers[at++ % numbers.size()];
  };
}

TEST(SealSchedule, WithoutChanceItIsRegular) {
  SealSchedule schedule(kInterval, kStart, {});
  EXPECT_FALSE(schedule.Due(kStart + kInterval - 1));
  EXPECT_TRUE(schedule.Due(kStart + kInterval));
  EXPECT_FALSE(schedule.Due(kStart + kInterval));
  EXPECT_TRUE(schedule.Due(kStart + 2 * kInterval + 5));
  EXPECT_EQ(schedule.next_ns(), kStart + 3 * kInterval + 5);
}

TEST(SealSchedule, ChanceMovesItByATenthAtMost) {
  SealSchedule schedule(kInterval, kStart, Saying({0.25, 0, 0.5, 1}));
  EXPECT_EQ(schedule.next_ns(), kStart + kInterval / 4 * 3) << "the first is cut anywhere";
  uint64_t now = schedule.next_ns();
  for (const uint64_t expected : {kInterval / 10 * 9, kInterval, kInterval / 10 * 11}) {
    ASSERT_TRUE(schedule.Due(now));
    EXPECT_NEAR(static_cast<double>(schedule.next_ns() - now), static_cast<double>(expected), 2);
    EXPECT_FALSE(schedule.Due(schedule.next_ns() - 1));
    now = schedule.next_ns();
  }
}

// A hundred agents, started in the same instant: what comes in any one second of the first five
// minutes.
TEST(SealSchedule, AFleetDoesNotSendInStep) {
  std::vector<int> by_second(300);
  int all = 0;
  for (uint32_t agent = 0; agent < 100; ++agent) {
    std::mt19937_64 engine(agent);
    SealSchedule schedule(kInterval, 0,
                          [&] { return std::uniform_real_distribution(0.0, 1.0)(engine); });
    for (uint64_t ms = 0; ms < 300'000; ms += 10) {
      if (!schedule.Due(ms * 1'000'000)) continue;
      ++by_second[ms / 1000];
      ++all;
    }
  }
  EXPECT_NEAR(all, 2000, 120);
  EXPECT_LT(*std::ranges::max_element(by_second), 30) << "in step it would be a hundred";
}

}  // namespace
}  // namespace stackray
