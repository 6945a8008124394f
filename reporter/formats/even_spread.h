// When samples without times were taken: evenly over their batch. With all of them at its middle,
// bars that are not a whole number of batches wide would go up and down by themselves.
#ifndef STACKRAY_REPORTER_FORMATS_EVEN_SPREAD_H_
#define STACKRAY_REPORTER_FORMATS_EVEN_SPREAD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stackray {

// One batch's rows, in any order. The parts of a row add up to its count where the whole batch is
// wanted. Threads: one. Errors: none.
class EvenSpread {
 public:
  // The batch is [start_ns, end_ns); wanted are times in [from_ns, to_ns) within it.
  EvenSpread(int64_t start_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns)
      : start_ns_(start_ns),
        end_ns_(std::max(end_ns, start_ns + 1)),
        from_ns_(std::max(start_ns_, from_ns)),
        to_ns_(std::min(end_ns_, to_ns)) {}

  // Whether any of the batch is wanted.
  bool any() const { return from_ns_ < to_ns_; }

  // f(time_ms, count) for each slice of `width_ms` that has a part of a row of `count`.
  // Successive calls round differently, so that rows of one sample are spread as well.
  template <typename F>
  void Split(int64_t count, int64_t width_ms, F&& f) {
    phase_ += 0.6180339887498949;  // The golden ratio's fraction: fills [0, 1) most evenly.
    phase_ -= std::floor(phase_);
    int64_t done = Until(count, from_ns_);
    for (int64_t at_ns = from_ns_; at_ns < to_ns_;) {
      const int64_t at_ms = at_ns / kNsPerMs;
      const int64_t next_ms = (at_ms / width_ms + 1) * width_ms;
      const int64_t next_ns = next_ms > to_ns_ / kNsPerMs ? to_ns_ : next_ms * kNsPerMs;
      const int64_t upto = Until(count, next_ns);
      if (upto > done) f(at_ms, upto - done);
      done = upto;
      at_ns = std::max(next_ns, at_ns + 1);
    }
  }

 private:
  static constexpr int64_t kNsPerMs = 1'000'000;

  // How many of the row's samples are before that time.
  int64_t Until(int64_t count, int64_t time_ns) const {
    if (time_ns <= start_ns_) return 0;
    if (time_ns >= end_ns_) return count;
    const double share =
        static_cast<double>(time_ns - start_ns_) / static_cast<double>(end_ns_ - start_ns_);
    const double before = std::floor(static_cast<double>(count) * share + phase_);
    return before >= static_cast<double>(count) ? count : static_cast<int64_t>(before);
  }

  const int64_t start_ns_, end_ns_, from_ns_, to_ns_;
  double phase_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_EVEN_SPREAD_H_
