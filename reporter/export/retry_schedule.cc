#include "reporter/export/retry_schedule.h"

#include <algorithm>
#include <cmath>

namespace stackray {

std::chrono::milliseconds RetrySchedule::Next(
    std::optional<std::chrono::milliseconds> retry_after) {
  const double longest = static_cast<double>(timings_.longest.count());
  const double base = std::min(
      static_cast<double>(timings_.first.count()) * std::pow(timings_.factor, failures_), longest);
  failures_ = std::min(failures_ + 1, 1000);
  std::uniform_real_distribution<double> share(1 - timings_.jitter, 1 + timings_.jitter);
  const std::chrono::milliseconds wait(std::llround(std::min(base * share(random_), longest)));
  return retry_after ? std::max(wait, *retry_after) : wait;
}

}  // namespace stackray
