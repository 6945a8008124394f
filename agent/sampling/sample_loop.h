// The loop that owns the open batches: record → stack → need questions → batch → sealed batch.
// There is one of the continuous profile (capture 0) and one of each capture that runs beside it; a
// sample goes into those that its record names.
//
// The ring and the queue of its reader (ring_reader.h) are before it: they hold several seconds of
// samples, so this loop may take its time for a large symbol table.
//
// Threads: one. `on_sealed` is called on it and must not block for long.
#ifndef STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_
#define STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "agent/sampling/capture_batch.h"
#include "agent/sampling/frame_resolver.h"
#include "agent/sampling/off_cpu_waits.h"
#include "agent/sampling/process_table.h"
#include "agent/sampling/ring_intake.h"
#include "agent/thread_context/sample_context.h"
#include "bpf/shared/counters.h"
#include "kernel/raw_sample.h"
#include "reporter/batch.h"

namespace stackray {

// The number of the batch that a dump of threads goes into: no record names it.
inline constexpr int kDumpCapture = MAX_CAPTURES;

struct SampleLoopSettings {
  BatchSettings batch;
  size_t max_batch_bytes = 3'670'016;  // 3.5 MiB: receivers take 4 MiB.
  size_t max_processes = 16'384;
  ServiceNameOrder service_names = DefaultServiceNameOrder();
  LabelChoice labels;
  OffCpuWaits::Limits waits;
  LoopClock clock;
};

// What this loop has seen, final ends included (BPF's own counters know only how walks left BPF).
struct SampleLoopCounts {
  uint64_t samples = 0;        // Of all types: what has entered a batch.
  uint64_t wait_parts = 0;     // Of these, parts of waits.
  uint64_t of_others = 0;      // Not of these: seen for other captures only.
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
  void AddLost(uint64_t detail, uint64_t samples) { captures_[0]->AddLost(detail, samples); }
  // All processes that there are, told by Take() between these two: after lost events. Without a
  // list EndGoneProcesses() asks /proc.
  void BeginProcessList() { processes_.BeginList(); }
  void EndProcessList() { processes_.EndList(); }
  void EndGoneProcesses() { processes_.EndGone(); }
  // See ProcessTable.
  void DropDeletedFiles(uint64_t now_ns) { processes_.DropDeletedFiles(now_ns); }
  // Gives the open batches the source lines that were looked up meanwhile.
  void TakeLines() { resolver_.TakeLines(AllOpen()); }
  // Puts the waits that are open into the open batches, up to `until_ns` (CLOCK_BOOTTIME). All
  // records that are older than that should have been taken: a wait whose end is still to come
  // counts as open.
  void ShipWaits(uint64_t until_ns);
  // Ends of waits were lost: forgets those that `waits_since` does not confirm
  // (Sampler::WaitsSince()).
  void CheckWaits(const std::function<std::optional<uint64_t>(uint32_t tid)>& waits_since) {
    waits_.Check(waits_since);
  }
  // A look at what all threads have waited, told by Take() between these two: before ShipWaits().
  void BeginWaitLook() { waits_.accounts().BeginLook(); }
  void EndWaitLook(const std::function<bool(uint32_t tid)>& is_followed) {
    waits_.accounts().EndLook(is_followed);
  }
  const OffCpuWaits& waits() const { return waits_; }
  // As ProcessTable: what the sampled processes publish, and which have ended.
  void FollowContexts(const ProcessTable::TakeContext& take) { processes_.FollowContexts(take); }
  void OnProcessEnd(std::function<void(const ProcessId&)> end) { processes_.OnEnd(std::move(end)); }
  // Of capture 0: as CaptureBatch says.
  void Seal() { captures_[0]->Seal(); }
  void LimitBatchBytes(size_t bytes) { captures_[0]->LimitBytes(bytes); }
  void ChangeFrequency(double frequency_hz, uint64_t from_ns) {
    captures_[0]->ChangeFrequency(frequency_hz, from_ns);
  }

  // A capture beside capture 0: records that name it go into its batches from now on.
  // `capture`: 1 to MAX_CAPTURES - 1, or kDumpCapture.
  void AddCapture(int capture, CaptureBatchSettings settings, OnSealed on_sealed);
  // Its open batch is dropped: seal it before.
  void RemoveCapture(int capture) {
    waits_.ForgetCapture(capture);
    captures_[static_cast<size_t>(capture)].reset();
  }
  // nullptr: there is none of this number.
  CaptureBatch* capture(int capture) { return captures_[static_cast<size_t>(capture)].get(); }

  // Drops every cache, as a test does between any two records.
  void WipeCaches();
  SampleLoopCounts counts() const;                        // Of capture 0 where they are of batches.
  size_t processes() const { return processes_.size(); }  // In the process table.
  ProcessTable& process_table() { return processes_; }

 private:
  void TakeSample(const RawSample& sample, const WalkResult* finished);
  void TakeWaitPart(const OpenWait& wait, const WaitPart& part);
  void AddTo(uint32_t captures, const Observation& seen);
  void LoseWait(uint32_t captures);
  SampleContext ContextOf(const process_key& process, std::span<const uint8_t> bytes);
  std::span<OpenBatch* const> AllOpen();

  const SampleLoopSettings settings_;
  FrameResolver& resolver_;
  ProcessTable processes_;
  OffCpuWaits waits_;
  SampleContextReader contexts_;
  std::array<std::unique_ptr<CaptureBatch>, MAX_CAPTURES + 1> captures_;  // nullptr: not in use.
  std::vector<OpenBatch*> all_open_;                                      // Scratch.
  SampleLoopCounts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SAMPLE_LOOP_H_
