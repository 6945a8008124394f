// When the open batch is sealed. With receivers each interval is up to 10 % longer or shorter, at
// random, and the first is cut somewhere: agents that were started at the same moment, as a fleet's
// are, do not send in step. Threads: one.
#ifndef STACKRAY_AGENT_DAEMON_SEAL_SCHEDULE_H_
#define STACKRAY_AGENT_DAEMON_SEAL_SCHEDULE_H_

#include <cstdint>
#include <functional>

namespace stackray {

class SealSchedule {
 public:
  static constexpr double kJitter = 0.1;   // Of the interval, to either side.
  using Random = std::function<double()>;  // Uniform in [0, 1).

  // Times are of a clock that does not jump. An empty `random`: no jitter.
  SealSchedule(uint64_t interval_ns, uint64_t now_ns, Random random)
      : interval_ns_(interval_ns), random_(std::move(random)) {
    next_ns_ = now_ns + (random_ ? Share(1 - random_()) : interval_ns_);
  }

  // Whether it is time; then the next time is chosen, from now on.
  bool Due(uint64_t now_ns) {
    if (now_ns < next_ns_) return false;
    next_ns_ = now_ns + (random_ ? Share(1 - kJitter + 2 * kJitter * random_()) : interval_ns_);
    return true;
  }
  uint64_t next_ns() const { return next_ns_; }

 private:
  uint64_t Share(double share) const {
    return static_cast<uint64_t>(static_cast<double>(interval_ns_) * share);
  }

  const uint64_t interval_ns_;
  const Random random_;
  uint64_t next_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_SEAL_SCHEDULE_H_
