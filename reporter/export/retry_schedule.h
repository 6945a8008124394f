// How long to wait before a batch is sent again: 5 s, then half as much more each time up to 30 s,
// moved at random so that a fleet of agents does not come back in step.
#ifndef STACKRAY_REPORTER_EXPORT_RETRY_SCHEDULE_H_
#define STACKRAY_REPORTER_EXPORT_RETRY_SCHEDULE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

namespace stackray {

struct RetryTimings {
  std::chrono::milliseconds first{5'000};
  double factor = 1.5;
  std::chrono::milliseconds longest{
      30'000};          // Also of a wait with jitter; not of a receiver's wish.
  double jitter = 0.2;  // Each wait is within ± this share.
};

class RetrySchedule {
 public:
  RetrySchedule(const RetryTimings& timings, uint64_t seed) : timings_(timings), random_(seed) {}

  // The wait before the next attempt. A receiver's wish is a lower bound.
  std::chrono::milliseconds Next(std::optional<std::chrono::milliseconds> retry_after);
  // After an answer: the next failure starts anew.
  void Reset() { failures_ = 0; }

 private:
  const RetryTimings timings_;
  std::mt19937_64 random_;
  int failures_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RETRY_SCHEDULE_H_
