// One sampling clock per online CPU: perf's cpu-clock, which works on every machine.
#ifndef STACKRAY_KERNEL_CLOCK_EVENTS_H_
#define STACKRAY_KERNEL_CLOCK_EVENTS_H_

#include <cstdint>
#include <map>
#include <span>

#include "absl/status/status.h"

struct bpf_link;
struct bpf_program;

namespace stackray {

// Threads: one at a time.
class ClockEvents {
 public:
  // `program` outlives this.
  ClockEvents(bpf_program* program, double frequency_hz);
  ~ClockEvents();

  // Opens events for CPUs that are online and have none, closes those of CPUs that went.
  // Errors: FailedPrecondition (perf_event_open refused; the text says why and what to do).
  absl::Status Follow(std::span<const int> online);
  // Another rate for all CPUs: each one's next tick comes a whole new period from now. One system call a
  // CPU. Errors: as Follow(), for a CPU whose clock had to be opened anew.
  absl::Status SetFrequency(double frequency_hz);
  void Stop();

 private:
  struct Clock {
    bpf_link* link = nullptr;  // Owns the event.
    int event_fd = -1;
  };
  absl::Status Open(int cpu);
  absl::Status Follow();

  bpf_program* const program_;
  uint64_t period_ns_;
  std::map<int, Clock> clocks_;  // By CPU.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CLOCK_EVENTS_H_
