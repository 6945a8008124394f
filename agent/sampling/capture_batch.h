// One capture's open batch: what is seen goes in, sealed batches come out.
//
// Each capture has batches of its own, complete by themselves, with its own rate and limits. What
// they are made with (names, files, processes) is the host's and lent by the sample loop.
//
// Threads: one (the sample loop's). `on_sealed` is called on it and must not block for long.
#ifndef STACKRAY_AGENT_SAMPLING_CAPTURE_BATCH_H_
#define STACKRAY_AGENT_SAMPLING_CAPTURE_BATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sampling/frame_resolver.h"
#include "agent/sampling/open_batch.h"
#include "agent/sampling/process_table.h"
#include "kernel/raw_sample.h"
#include "kernel/wall_clock.h"
#include "profile/sample_types.h"
#include "reporter/batch.h"

namespace stackray {

// Where times come from that are not in the records. Tests bring their own.
struct LoopClock {
  std::function<uint64_t()> boot_time_ns = BootTimeNs;
  std::function<int64_t()> wall_offset_ns = WallOffsetNs;
};

// A stack whose walk is over.
struct WalkedStack {
  std::span<const uint64_t> words;
  std::span<const code_range> ranges;
  uint32_t end = END_NONE;
};

// What goes into a batch as one event.
struct Observation {
  process_key process = {};
  uint32_t tid = 0, cpu = 0;
  std::string_view leader_command, thread_command;
  std::span<const uint64_t> kernel;
  uint32_t flags = 0;    // enum sample_flags.
  uint64_t time_ns = 0;  // CLOCK_BOOTTIME.
  WalkedStack stack;
  SampleOrigin origin = SampleOrigin::kCpuClock;
  int64_t value = 1;
  WaitKind wait = WaitKind::kNone;
  std::optional<SpanContext> span;  // What the thread worked on.
  std::span<const SampleLabel> labels;
};

struct CaptureBatchSettings {
  BatchSettings batch;
  size_t max_bytes = 3'670'016;  // 3.5 MiB: receivers take 4 MiB.
  // Of a capture beside the continuous profile: its resources say so by `stackray.capture.name`.
  std::string capture_name;
  // And by a service.name that ends in " (capture NAME)": nobody adds them up with the others.
  bool marks_service = false;
};

struct CaptureBatchCounts {
  uint64_t samples = 0;     // Of all types: what has entered a batch.
  uint64_t wait_parts = 0;  // Of these, parts of waits.
  uint64_t batches = 0, lost = 0;
  uint64_t sealed_samples = 0;  // Of `samples`, those that have left in a batch.
};

class CaptureBatch {
 public:
  using OnSealed = std::function<void(SealedBatchPtr)>;
  // The open batches of all captures, this one's among them.
  using AllOpen = std::function<std::span<OpenBatch* const>()>;

  // All that is lent outlives this.
  CaptureBatch(CaptureBatchSettings settings, const LoopClock& clock, FrameResolver& resolver,
               ProcessTable& processes, AllOpen all_open, OnSealed on_sealed);

  void Add(const Observation& seen);
  // Samples that never became a record: they travel as a marker of the host.
  void AddLost(uint64_t detail, uint64_t samples);
  // Ends the open batch and hands it to on_sealed; nothing happens when it is empty.
  void Seal();
  // Batches are sealed at this size from now on, where it is smaller than the settings' one; 0: at
  // that one again.
  void LimitBytes(size_t bytes);
  // On-CPU samples taken at `from_ns` (CLOCK_BOOTTIME) and later are of another rate. They go into
  // profiles of their own, because a profile has one period. Several changes may be under way.
  void ChangeFrequency(double frequency_hz, uint64_t from_ns);

  OpenBatch& open() { return batch_; }
  const BatchSettings& batch_settings() const { return batch_settings_; }
  const CaptureBatchCounts& counts() const { return counts_; }

 private:
  void AddSample(const Observation& seen);
  void CollectFrames(const Observation& seen);
  void DefineProcess(const ProcessId& id, std::string_view command);
  void AddWithinLimit(auto add);
  void Open();
  void TakeFrequency(uint64_t sample_time_ns);
  int64_t WallTimeNs() const;  // Now, by the open batch's offset.

  const CaptureBatchSettings settings_;
  const LoopClock& clock_;
  FrameResolver& resolver_;
  ProcessTable& processes_;
  const AllOpen all_open_;
  const OnSealed on_sealed_;
  BatchSettings batch_settings_;
  struct FrequencyChange {
    uint64_t from_ns;
    double frequency_hz;
  };
  std::deque<FrequencyChange> frequency_changes_;  // To come, by time.
  OpenBatch batch_;
  // Of the open batch: a step of the wall clock touches later ones only.
  int64_t wall_offset_ns_ = 0;
  int64_t batch_start_unix_ns_ = 0;
  std::vector<int32_t> frames_;  // Scratch.
  CaptureBatchCounts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_CAPTURE_BATCH_H_
