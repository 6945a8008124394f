// Batches of different sampling periods in one sum: a sample of 40 ms stands for four of 10 ms.
// Counts are in samples of the shortest period met so far; when a shorter one comes, what was added
// before is scaled up.
//
// Periods that are not multiples of each other (99 Hz, then 20 Hz) are weighted by the nearest
// whole number. Input: a batch's word, so any number; beyond kMostWeight it is not believed, and
// the batch counts as it is.
#ifndef STACKRAY_REPORTER_FORMATS_PERIOD_WEIGHT_H_
#define STACKRAY_REPORTER_FORMATS_PERIOD_WEIGHT_H_

#include <cmath>
#include <cstdint>

namespace stackray {

// a × b, or the largest number. Both are ≥ 0.
constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

class PeriodWeight {
 public:
  static constexpr double kMostWeight = 4096;

  struct Factors {
    int64_t before = 1;  // For what has been added so far.
    int64_t batch = 1;   // For this batch.
  };
  // Once for each batch, in order.
  Factors Next(double period_ns) {
    if (!std::isfinite(period_ns) || period_ns <= 0) return {};
    if (period_ns_ <= 0) period_ns_ = period_ns;
    const double up = period_ns_ / period_ns, down = period_ns / period_ns_;
    if (up >= 1.5 && up <= kMostWeight) {
      period_ns_ = period_ns;
      return {.before = std::llround(up)};
    }
    if (down >= 1.5 && down <= kMostWeight) return {.batch = std::llround(down)};
    return {};
  }
  double period_ns() const { return period_ns_; }  // 0: no batch had one.

 private:
  double period_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PERIOD_WEIGHT_H_
