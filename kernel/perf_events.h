// One perf event of a kind on each online CPU, with a program attached to it. The software events
// work on every machine.
#ifndef STACKRAY_KERNEL_PERF_EVENTS_H_
#define STACKRAY_KERNEL_PERF_EVENTS_H_

#include <cstdint>
#include <map>
#include <span>

#include "absl/status/status.h"
#include "bpf/shared/records.h"

struct bpf_link;
struct bpf_program;

namespace stackray {

// The program tells the kinds apart by the low four bits of the period that the event was opened
// with (EVENT_SLOT_… in bpf/shared/records.h).
enum class EventKind {
  kCpuClock,    // Its period is in nanoseconds; any.
  kPageFaults,  // Its period is in page faults, and ClosestPageFaultPeriod() of itself.
};

// Nanoseconds.
constexpr uint64_t ClockPeriod(double frequency_hz) {
  return static_cast<uint64_t>(1e9 / frequency_hz);
}
// The nearest period that a page-fault counter can have: 1, 17, 33, …
uint64_t ClosestPageFaultPeriod(uint64_t period);

// Threads: one at a time.
class PerfEvents {
 public:
  // `program` outlives this. `slot`: of a clock, which captures tick by it (CaptureClocks).
  PerfEvents(bpf_program* program, EventKind kind, uint64_t period,
             uint32_t slot = EVENT_SLOT_CPU_CLOCK);
  ~PerfEvents();

  // Opens events for CPUs that are online and have none, closes those of CPUs that went.
  // Errors: FailedPrecondition (perf_event_open refused; the text says why and what to do).
  absl::Status Follow(std::span<const int> online);
  absl::Status Follow();  // Asks which are online; then also what OnlineCpus() says.
  // Another period for all CPUs' clocks: each one's next tick comes a whole new period from now.
  // One system call a CPU. Errors: as Follow(), for a CPU whose event had to be opened anew.
  absl::Status SetPeriod(uint64_t period);
  void Stop();

 private:
  struct Event {
    bpf_link* link = nullptr;  // Owns the event.
    int event_fd = -1;
  };
  absl::Status Open(int cpu);

  bpf_program* const program_;
  const EventKind kind_;
  const uint32_t slot_;
  uint64_t period_;
  std::map<int, Event> events_;  // By CPU.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PERF_EVENTS_H_
