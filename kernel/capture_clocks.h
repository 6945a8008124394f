// What makes the captures' samples: a clock for each rate, one for captures of the same rate; the
// page-fault counter of all of them. Capture 0 has a clock of its own, so that its samples are the
// same whatever others do.
//
// Threads: one at a time. Errors: as PerfEvents::Follow(); ResourceExhausted (too many different
// rates at once).
#ifndef STACKRAY_KERNEL_CAPTURE_CLOCKS_H_
#define STACKRAY_KERNEL_CAPTURE_CLOCKS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/records.h"
#include "kernel/perf_events.h"

namespace stackray {

class CaptureClocks {
 public:
  // `program` and `controls` outlive this.
  CaptureClocks(bpf_program* program, control* controls) : program_(program), control_(controls) {}
  ~CaptureClocks() { Stop(); }

  // The capture samples on-CPU time at this rate from now on; 0: not any more. Where Follow() has
  // not been called yet, from then on.
  absl::Status SetFrequency(int capture, double frequency_hz);
  // It samples page faults, one in about `period`, which is the same for all captures; 0: not any
  // more.
  absl::Status SetPageFaults(int capture, uint64_t period);
  // Opens what is missing on the online CPUs, closes what is left of those that went.
  absl::Status Follow(std::span<const int> online);
  // No more ticks.
  void Stop();

 private:
  struct Slot {
    std::unique_ptr<PerfEvents> events;  // nullptr: not in use.
    uint64_t period = 0;
  };
  int FindSlot(int capture, uint64_t period) const;  // -1: none is free.
  absl::Status Open(int slot, EventKind kind, uint64_t period);
  void Leave(int capture, int slot);

  bpf_program* const program_;
  control* const control_;
  std::array<Slot, EVENT_SLOTS> slots_;
  bool is_running_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CAPTURE_CLOCKS_H_
