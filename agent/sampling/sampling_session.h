// Everything that runs while a host is sampled: the programs in the kernel, the thread that writes
// unwind tables, and the loop that makes batches. `record` and `agent` differ in what they do with
// the sealed batches.
//
// Threads: the caller's thread runs Turn(), Seal() and Stop(); one thread of its own answers table
//          misses, one empties the ring (and one more makes spare chunks, kernel/bpf_row_memory.h).
#ifndef STACKRAY_AGENT_SAMPLING_SAMPLING_SESSION_H_
#define STACKRAY_AGENT_SAMPLING_SAMPLING_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/sampling/process_dump.h"
#include "agent/sampling/ring_reader.h"
#include "agent/sampling/sample_loop.h"
#include "agent/sampling/session_captures.h"
#include "agent/sampling/wait_looks.h"
#include "agent/thread_context/thread_contexts.h"
#include "kernel/cpu_changes.h"
#include "kernel/cpu_list.h"
#include "kernel/process_iterator.h"
#include "kernel/sampler.h"
#include "kernel/thread_list.h"
#include "symbolizer/unwind/row_store.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray {

// Processes that can be targets by their number; each takes some 80 bytes of BPF memory.
inline constexpr uint32_t kMostTargetPids = 16'384;

struct SessionSettings {
  // What is sampled. The fields of `sampler` and `loop` that depend on it are set by the session.
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  uint32_t off_cpu_rate = 200;       // Stacks of waits, a second and CPU.
  uint64_t page_fault_period = 113;  // Page faults a sample, about.
  SamplerSettings sampler;
  SampleLoopSettings loop;
  uint64_t unwind_table_bytes = 16 << 20;
  size_t symbol_cache_bytes = 6 << 20;
  NativeNames native;
  size_t open_table_bytes = 2 << 20;  // Unwind tables that are being read from.
  size_t max_files = 1024;
  size_t runtime_name_bytes = 4 << 20;  // Names of interpreters' code that were read.
  LoopFrames loop_frames = LoopFrames::kHidden;
  bool async_parents = false;  // Runtimes::Options.
};

// How long tables took: from an event in the kernel until BPF could read what it wanted.
struct TableWaits {
  uint64_t count = 0, sum_ns = 0, longest_ns = 0;
};

// One moment of a session. Exactly: produced = lost + in_flight + those in sealed batches, where
// markers of lost samples count nowhere.
struct SessionCounts {
  uint64_t produced =
      0;  // Samples that were to be delivered. A wait becomes one when a part of it is made.
  uint64_t in_flight = 0;  // Of these, those in the ring, before the loop and in the open batch.
  counters kernel = {};    // BPF's own.
  SampleLoopCounts loop;
  FrameResolver::Counts frames;
  RowStore::Statistics tables;
  ThreadContexts::Counts contexts;
  // Of captures that the receivers get, too: those in their batches. Set by the agent.
  uint64_t sent_capture_samples = 0;
  uint64_t map_bytes = 0, cache_bytes = 0;
  TableWaits after_exec;  // Of programs that no process ran before.
  TableWaits after_miss;  // Of pages that a walk has met first.

  uint64_t lost() const {
    return kernel.value[COUNT_RING_FULL] + kernel.value[COUNT_SCRATCH_BUSY] + loop.damaged_records;
  }
};

// With how much a session makes do; at first with all that its settings say.
struct SessionLimits {
  uint64_t unwind_table_bytes = 0;
  size_t symbol_cache_bytes = 0;
  double frequency_hz = 0;
  uint32_t off_cpu_rate = 0;  // Where waits are sampled.
  // Code whose table is not loaded is walked by frame pointers instead of by a slice of the stack,
  // and no table is loaded ahead.
  bool frame_pointers = false;

  friend bool operator==(const SessionLimits&, const SessionLimits&) = default;
};

class SamplingSession {
 public:
  // Loads; nothing is sampled yet. Errors: as Sampler::Create.
  static absl::StatusOr<std::unique_ptr<SamplingSession>> Create(SessionSettings settings,
                                                                 SampleLoop::OnSealed on_sealed);
  ~SamplingSession();

  // For choosing targets before Start().
  Sampler& sampler() { return *sampler_; }
  // Things a user should know: kernel names hidden, and the like.
  const std::vector<std::string>& warnings() const { return warnings_; }

  absl::Status Start();
  // Waits up to `timeout_ms` for samples and takes those that are there, some thousand at most.
  // Follows CPUs once a second.
  void Turn(int timeout_ms);
  // Ends the wait of Turn(), or of its next call. Threads: any.
  void WakeTurn() { reader_->WakeTaker(); }
  // Puts what was lost since the last time into the open batch and seals it.
  void Seal();
  // Stops the clocks, takes what is left in the ring, seals. Nothing is in flight then.
  void Stop();

  // Takes effect at once; less memory is reached within a second or so. Profiles stay right: each
  // has one rate. Errors: as Sampler::SetFrequency; the rate may then be the old one on some CPUs.
  absl::Status Limit(const SessionLimits& limits);
  const SessionLimits& limits() const { return limits_; }
  const SessionSettings& settings() const { return settings_; }
  uint64_t map_bytes() const { return sampler_->MapBytes(); }
  uint64_t fixed_map_bytes() const { return sampler_->FixedMapBytes(); }

  SampleLoop& loop() { return *loop_; }
  // What is known of a process's thread contexts; nullptr: nothing. Call it from the thread that
  // runs Turn().
  const ThreadContextFinding* ContextsOf(uint32_t pid) const {
    return contexts_ == nullptr ? nullptr : contexts_->FindingOf(pid);
  }
  // Those beside the session's own profile; for all but Start() and EndCapture(), which follow
  // here.
  SessionCaptures& captures() { return *captures_; }
  // As SessionCaptures::Start(). Processes that the session did not hear of so far are listed.
  absl::StatusOr<int> StartCapture(const CaptureOptions& options, SampleLoop::OnSealed on_sealed);
  // Takes what the ring has of it, seals, and says what became of its samples: none is in flight.
  CaptureCounts EndCapture(int capture);
  // The stacks of all threads of a process, which goes on meanwhile (process_dump.h). Takes some 50
  // µs a thread, and up to options.ticks where threads run. Errors: NotFound (no such process),
  // FailedPrecondition (the kernel refuses the list), Internal.
  absl::StatusOr<ProcessDump> Dump(uint32_t pid, const DumpOptions& options);
  // Call it from the thread that runs Turn().
  SessionCounts Counts();

 private:
  explicit SamplingSession(SessionSettings settings)
      : settings_(WithTypes(std::move(settings))),
        limits_{.unwind_table_bytes = settings_.unwind_table_bytes,
                .symbol_cache_bytes = settings_.symbol_cache_bytes,
                .frequency_hz = settings_.sampler.frequency_hz,
                .off_cpu_rate = settings_.sampler.off_cpu_rate} {}
  static SessionSettings WithTypes(SessionSettings settings);
  void LoadVdso();
  void AnswerMisses();
  void AnswerMiss(const Record& record);
  int TakeAll(int timeout_ms);  // How many records.
  void ListProcesses();
  void ReadJitCodeAhead();
  void LookAtWaits(uint64_t due_ns, absl::Duration most_time);
  void LookForLostEvents(const counters& now);
  void FollowCpus();
  void FollowContexts(uint64_t now_ns);
  void AddLosses();
  void TakeWaitsUntilNow();
  void ShipWaits(uint64_t due_ns);
  void ShipLastWaits();
  void ShipWaits() { ShipWaits(wait_looks_.due_ns()); }

  const SessionSettings settings_;
  SessionLimits limits_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<ExecutableFiles> files_;
  std::unique_ptr<Runtimes> runtimes_;
  std::unique_ptr<RowStore> rows_;
  std::unique_ptr<TableLoader> loader_;
  std::unique_ptr<SampleWalk> walk_;
  std::unique_ptr<SampleWalk> wait_walk_;  // The ring's reader uses the other one.
  std::unique_ptr<FrameResolver> resolver_;
  std::unique_ptr<ThreadContexts> contexts_;  // nullptr: not wanted.
  std::unique_ptr<SampleLoop> loop_;
  std::unique_ptr<SessionCaptures> captures_;
  std::unique_ptr<RingReader> reader_;
  std::unique_ptr<ProcessIterator> iterator_;  // nullptr: /proc is read instead.
  std::unique_ptr<ThreadList> thread_list_;    // nullptr: nobody has asked for a dump yet.
  absl::Mutex waits_mutex_;
  TableWaits after_exec_ ABSL_GUARDED_BY(waits_mutex_), after_miss_ ABSL_GUARDED_BY(waits_mutex_);
  std::thread table_thread_;
  std::atomic<bool> stopping_{false};
  uint64_t seen_ring_full_ = 0, seen_scratch_busy_ = 0, seen_lost_events_ = 0;
  uint64_t seen_lost_wait_ends_ = 0;
  WaitLooks wait_looks_;
  OnlineCpuList online_cpus_;
  CpuChanges cpu_changes_;
  uint64_t next_cpu_look_ns_ = 0, next_context_look_ns_ = 0, next_deleted_look_ns_ = 0;
  bool running_ = false, said_unlooked_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SAMPLING_SESSION_H_
