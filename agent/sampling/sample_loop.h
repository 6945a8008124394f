// The loop that owns the open batch: record → stack → need questions → batch → sealed batch.
//
// The ring and the queue of its reader (ring_reader.h) are before it: they hold several seconds of
// samples, so this loop may take its time for a large symbol table.
//
// Threads: one. `on_sealed` is called on it and must not block for long.
#ifndef STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_
#define STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "agent/sampling/frame_resolver.h"
#include "agent/sampling/markers.h"
#include "agent/sampling/off_cpu_waits.h"
#include "agent/sampling/process_table.h"
#include "agent/sampling/ring_intake.h"
#include "kernel/raw_sample.h"
#include "kernel/wall_clock.h"
#include "reporter/batch.h"

namespace stackray {

// Where times come from that are not in the records. Tests bring their own.
struct LoopClock {
  std::function<uint64_t()> boot_time_ns = BootTimeNs;
  std::function<int64_t()> wall_offset_ns = WallOffsetNs;
};

struct SampleLoopSettings {
  BatchSettings batch;
  size_t max_batch_bytes = 3'670'016;  // 3.5 MiB: receivers take 4 MiB.
  size_t max_processes = 16'384;
  ServiceNameOrder service_names = DefaultServiceNameOrder();
  OffCpuWaits::Limits waits;
  LoopClock clock;
};

// What this loop has seen, final ends included (BPF's own counters know only how walks left BPF).
struct SampleLoopCounts {
  uint64_t samples = 0;        // Of all types: what has entered a batch.
  uint64_t wait_parts = 0;     // Of these, parts of waits.
  uint64_t refused_waits = 0;  // Beyond the limits of those that can be open; no samples.
  uint64_t events = 0, damaged_records = 0, finished_here = 0, guessed = 0;
  uint64_t batches = 0, lost = 0;
  uint64_t sealed_samples = 0;  // Of `samples`, those that have left in a batch.
  std::array<uint64_t, END_REASON_COUNT> ends{};
};

class SampleLoop {
 public:
  using OnSealed = std::function<void(SealedBatchPtr)>;

  // `resolver` outlives this.
  SampleLoop(SampleLoopSettings settings, FrameResolver& resolver, OnSealed on_sealed);

  // One record of the ring.
  void Take(const TakenRecord& taken);
  // Samples that never became a record: they travel as a marker of the host.
  void AddLost(uint64_t detail, uint64_t samples);
  // All processes that there are, told by Take() between these two: after lost events. Without a
  // list EndGoneProcesses() asks /proc.
  void BeginProcessList() { processes_.BeginList(); }
  void EndProcessList() { processes_.EndList(); }
  void EndGoneProcesses() { processes_.EndGone(); }
  // Gives the open batch the source lines that were looked up meanwhile.
  void TakeLines() { resolver_.TakeLines(batch_, max_batch_bytes_); }
  // Puts the waits that are open into the open batch, up to `until_ns` (CLOCK_BOOTTIME). All
  // records that are older than that should have been taken: a wait whose end is still to come
  // counts as open.
  void ShipWaits(uint64_t until_ns);
  // Ends of waits were lost: forgets those that `waits_since` does not confirm
  // (Sampler::WaitsSince()).
  void CheckWaits(const std::function<std::optional<uint64_t>(uint32_t tid)>& waits_since) {
    waits_.Check(waits_since);
  }
  const OffCpuWaits& waits() const { return waits_; }
  // Ends the open batch and hands it to on_sealed; nothing happens when it is empty.
  void Seal();

  // Batches are sealed at this size from now on, where it is smaller than the settings' one; 0: at
  // that one again.
  void LimitBatchBytes(size_t bytes);

  // Samples taken at `from_ns` (CLOCK_BOOTTIME) and later are of another rate. They go into profiles
  // of their own, because a profile has one period. Several changes may be under way.
  void ChangeFrequency(double frequency_hz, uint64_t from_ns);

  // Drops every cache, as a test does between any two records.
  void WipeCaches();
  const SampleLoopCounts& counts() const { return counts_; }
  size_t processes() const { return processes_.size(); }  // In the process table.

 private:
  // A stack whose walk is over.
  struct Stack {
    std::span<const uint64_t> words;
    std::span<const code_range> ranges;
    uint32_t end = END_NONE;
  };

  // What goes into the batch as one event.
  struct Observation {
    process_key process = {};
    uint32_t tid = 0, cpu = 0;
    std::string_view leader_command, thread_command;
    std::span<const uint64_t> kernel;
    uint32_t flags = 0;    // enum sample_flags.
    uint64_t time_ns = 0;  // CLOCK_BOOTTIME.
    Stack stack;
    SampleOrigin origin = SampleOrigin::kCpuClock;
    int64_t value = 1;
    WaitKind wait = WaitKind::kNone;
  };

  void TakeSample(const RawSample& sample, const WalkResult* finished);
  void TakeWaitPart(const OpenWait& wait, const WaitPart& part);
  void AddSample(const Observation& seen);
  void CollectFrames(const Observation& seen);
  void DefineProcess(const ProcessId& id, std::string_view command);
  void AddWithinLimit(auto add);
  void OpenBatch();
  void TakeFrequency(uint64_t sample_time_ns);
  int64_t WallTimeNs() const;  // Now, by the open batch's offset.

  const SampleLoopSettings settings_;
  FrameResolver& resolver_;
  const OnSealed on_sealed_;
  ProcessTable processes_;
  OffCpuWaits waits_;
  BatchSettings batch_settings_;
  struct FrequencyChange {
    uint64_t from_ns;
    double frequency_hz;
  };
  std::deque<FrequencyChange> frequency_changes_;  // To come, by time.
  BatchBuilder batch_;
  size_t max_batch_bytes_;
  int64_t wall_offset_ns_ =
      0;  // Of the open batch: a step of the wall clock touches later ones only.
  int64_t batch_start_unix_ns_ = 0;
  std::vector<int32_t> frames_;  // Scratch.
  SampleLoopCounts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_
