// How fast captures may sample so that all of them together stay within capture-max-rate. Takes
// counts, says a factor; does nothing itself.
//
// Threads: one.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_PACE_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_PACE_H_

#include <cstdint>

namespace stackray {

class CapturePace {
 public:
  // Samples a second and CPU; 0: no bound. The factor starts anew.
  void SetMaxRate(double max_rate);
  double max_rate() const { return max_rate_; }

  // About once a second: what all captures together have produced so far, and what of it was
  // dropped because of the bound; on `cpus` CPUs, at a time that does not jump. True: factor() has
  // changed.
  bool Look(uint64_t now_ns, uint64_t produced, uint64_t dropped, int cpus);
  // Captures are to sample at this part of the rate that they were asked for; (0, 1].
  double factor() const { return factor_; }

 private:
  double max_rate_ = 0, factor_ = 1;
  bool has_seen_ = false;
  uint64_t seen_ns_ = 0, seen_produced_ = 0, seen_dropped_ = 0, room_since_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_PACE_H_
