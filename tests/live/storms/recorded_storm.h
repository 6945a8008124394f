// A storm of short processes while the real `stackray` profiles the whole host, and a bare tick
// counter beside it that says how many samples there should be.
#ifndef STACKRAY_TESTS_LIVE_STORMS_RECORDED_STORM_H_
#define STACKRAY_TESTS_LIVE_STORMS_RECORDED_STORM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/live/storms/storm_report.h"
#include "tests/live/storms/tick_counter.h"

namespace stackray::test {

inline constexpr double kQuietShare = 0.9;

struct StormPlan {
  double frequency_hz = 99;
  double seconds = 3;
  // The storm, as a shell's command. STOP stands for a file that ends it, COUNT for one that it
  // writes a number of processes to.
  std::string command;
  std::vector<std::string> commands;  // Whose samples count: leaders' commands.
};

struct RecordedStorm {
  StormReport seen;
  std::map<std::string, ExpectedSamples> expected;  // Of the plan's commands.
  double processes = 0;                             // As the storm counted them.
  // Ticks of everybody but the profiler, and of these the storm's and its launchers'.
  uint64_t all_ticks = 0, storm_ticks = 0;
  double profiler_cpu_s = 0;  // CPU time that the profiler used while the storm ran.
  double seconds = 0;

  uint64_t expected_samples() const;
  double seen_percent() const;
  // The storm's part of what the profiler had to look at; below kQuietShare others were busy, too.
  double share() const;
  // How many samples may be missing by chance: two clocks that hit slices of a shared CPU
  // differ by about the root of what they count. None on a quiet machine, where the storm runs on.
  double chance_samples() const;
};

// Errors: FailedPrecondition (no BPF here, no program), Internal (the profiler or the storm
//         failed).
absl::StatusOr<RecordedStorm> RecordStorm(const StormPlan& plan);

// The storm under `stackray agent` with its default settings but for the rate; nothing is read
// back.
absl::StatusOr<RecordedStorm> WatchStorm(const StormPlan& plan);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_STORMS_RECORDED_STORM_H_
