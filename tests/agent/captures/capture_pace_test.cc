// How captures' rates follow what may be sampled.
#include "agent/captures/capture_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stackray {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Captures that would produce `wanted` samples a second and CPU at their full rate, under a bound
// that BPF keeps: what is beyond it is dropped.
class Load {
 public:
  Load(double max_rate, int cpus) : cpus_(cpus), max_rate_(max_rate) { pace_.SetMaxRate(max_rate); }

  void Seconds(int seconds, double wanted) {
    for (int i = 0; i < seconds; ++i) {
      const double rate = wanted * pace_.factor();
      const double dropped = std::max(0.0, rate - max_rate_);
      produced_ += static_cast<uint64_t>(rate * cpus_);
      dropped_ += static_cast<uint64_t>(dropped * cpus_);
      now_ns_ += kSecond;
      pace_.Look(now_ns_, produced_, dropped_, cpus_);
    }
  }
  double factor() const { return pace_.factor(); }
  uint64_t dropped() const { return dropped_; }

 private:
  const int cpus_;
  const double max_rate_;
  CapturePace pace_;
  uint64_t now_ns_ = 5 * kSecond, produced_ = 0, dropped_ = 0;
};

TEST(CapturePace, BelowTheBoundNothingChanges) {
  Load load(500, 2);
  load.Seconds(30, 499);
  EXPECT_EQ(load.factor(), 1);
}

TEST(CapturePace, FallsWithinSecondsUntilNothingIsDropped) {
  Load load(500, 4);
  load.Seconds(4, 4999);
  const uint64_t dropped = load.dropped();
  load.Seconds(10, 4999);
  EXPECT_EQ(load.dropped(), dropped);
  // Not lower than it has to be: at least half of what is allowed.
  EXPECT_GT(load.factor() * 4999, 250);
  EXPECT_LE(load.factor() * 4999, 500);
}

TEST(CapturePace, RisesAgainOnceThereIsRoom) {
  Load load(500, 1);
  load.Seconds(5, 4999);
  EXPECT_LT(load.factor(), 0.11);
  load.Seconds(60, 100);  // The host is idle.
  EXPECT_EQ(load.factor(), 1);
}

// One CPU is over its bound while the mean of all is far below it.
TEST(CapturePace, OneBusyCpuIsEnough) {
  CapturePace pace;
  pace.SetMaxRate(500);
  uint64_t produced = 0, dropped = 0;
  for (int second = 1; second <= 10; ++second) {
    const double rate = 4999 * pace.factor();
    produced += static_cast<uint64_t>(rate);
    dropped += static_cast<uint64_t>(std::max(0.0, rate - 500));
    pace.Look(static_cast<uint64_t>(second) * kSecond, produced, dropped, 64);
  }
  EXPECT_LE(4999 * pace.factor(), 500);
}

// Captures that end take their counts along.
TEST(CapturePace, CountsThatFallAreNoDrop) {
  CapturePace pace;
  pace.SetMaxRate(500);
  pace.Look(kSecond, 10'000, 5'000, 1);
  EXPECT_FALSE(pace.Look(2 * kSecond, 100, 0, 1));
  EXPECT_EQ(pace.factor(), 1);
}

TEST(CapturePace, WithoutABoundThereIsNone) {
  Load load(0, 1);
  load.Seconds(5, 100'000);
  EXPECT_EQ(load.factor(), 1);
}

}  // namespace
}  // namespace stackray
