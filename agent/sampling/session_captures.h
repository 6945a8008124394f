// The captures that run beside the continuous profile: each has targets and a clock in the kernel,
// batches of its own in the sample loop, and counts that add up for itself.
//
// Threads: one (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_SESSION_CAPTURES_H_
#define STACKRAY_AGENT_SAMPLING_SESSION_CAPTURES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/sampling/sample_loop.h"
#include "agent/settings/settings.h"
#include "kernel/sampler.h"

namespace stackray {

struct CaptureOptions {
  std::string name;
  std::vector<TargetSettings> targets;  // Any of them; never kProgram.
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  double frequency_hz = 499;
  bool deadly_signals = false;  // Also a sample of each thread that a signal ends.
  bool marks_service = false;   // CaptureBatchSettings.
};

// Exactly: produced = lost() + in_flight + those in sealed batches, where markers count nowhere.
struct CaptureCounts {
  uint64_t produced = 0, in_flight = 0, sealed = 0;
  uint64_t ring_full = 0, scratch_busy = 0, over_budget = 0;
  double frequency_hz = 0;  // Of now.

  uint64_t lost() const { return ring_full + scratch_busy + over_budget; }
  // Adds what has happened; what is in flight, and the rate, are of one moment.
  void Add(const CaptureCounts& other);
};

class SessionCaptures {
 public:
  // All are lent and outlive this. `settings`: of capture 0's batches, which the others resemble.
  SessionCaptures(Sampler& sampler, SampleLoop& loop, SampleLoopSettings settings)
      : sampler_(sampler), loop_(loop), settings_(std::move(settings)) {}

  // Its samples flow from now on. Returns its number, 1 to MAX_CAPTURES - 1.
  // Errors: as ApplyTarget() and Sampler::StartCapture(); ResourceExhausted: 15 run already.
  absl::StatusOr<int> Start(const CaptureOptions& options, SampleLoop::OnSealed on_sealed);
  // No more samples; those in the ring are still taken until End().
  void Stop(int capture);
  // Seals what is left and forgets the capture. Returns what has become of its samples.
  CaptureCounts End(int capture);

  absl::Status SetFrequency(int capture, double frequency_hz);
  // Puts what was lost since the last time into the open batch and seals it.
  void Seal(int capture);
  void SealAll();
  CaptureCounts Counts(int capture) const;
  // True when all its targets are processes by number and all of these have ended.
  bool TargetsEnded(int capture) const;
  // Makes targets of the processes that have become known as a wanted service. Call it once a
  // second.
  void FollowServices();
  bool empty() const;

 private:
  struct Running {
    CaptureOptions options;
    capture_counters base = {};                                        // When it began.
    uint64_t seen_ring_full = 0, seen_busy = 0, seen_over_budget = 0;  // Are in batches.
    absl::flat_hash_set<ProcessId> service_processes;  // Those of a wanted service so far.
  };

  int FreeNumber();
  absl::Status ApplyTargets(int capture, const CaptureOptions& options);
  capture_counters KernelCounts(int capture) const;
  void AddLosses(int capture);
  void AddService(int capture, std::string_view name,
                  std::span<const ProcessTable::ServiceOf> services, Running& running);

  Sampler& sampler_;
  SampleLoop& loop_;
  const SampleLoopSettings settings_;
  std::array<std::optional<Running>, MAX_CAPTURES> running_;
  int last_number_ = 0;  // Numbers are used again as late as can be: records may still name one.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SESSION_CAPTURES_H_
