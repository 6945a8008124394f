// The bare program that counts ticks, running: expected samples by process.
#ifndef STACKRAY_TESTS_LIVE_STORMS_TICK_COUNTER_H_
#define STACKRAY_TESTS_LIVE_STORMS_TICK_COUNTER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernel/perf_events.h"
#include "tests/live/storms/tick_count.h"

struct tick_counter_bpf;

namespace stackray::test {

// Sums over the processes of one command.
struct ExpectedSamples {
  uint64_t processes = 0;  // That had a tick.
  tick_count ticks = {};
  uint64_t samples() const { return ticks.user + ticks.kernel + ticks.in_exec + ticks.no_memory; }
};

// Threads: one at a time.
class TickCounter {
 public:
  // Counts from here on. Errors: FailedPrecondition (no BPF here), Internal.
  static absl::StatusOr<std::unique_ptr<TickCounter>> Start(double frequency_hz);
  ~TickCounter();

  // By the leader's command. Errors: ResourceExhausted when ticks found no room.
  absl::StatusOr<std::map<std::string, ExpectedSamples>> Counts() const;

 private:
  TickCounter() = default;
  tick_counter_bpf* skeleton_ = nullptr;
  std::unique_ptr<PerfEvents> clocks_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_STORMS_TICK_COUNTER_H_
