#include "agent/sampling/sampling_session.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "agent/privileges/thread_priority.h"
#include "agent/sampling/earlier_waits.h"
#include "agent/sampling/markers.h"
#include "agent/sampling/runtime_tables.h"
#include "bpf/shared/unwind_table.h"
#include "kernel/live_code_events.h"
#include "kernel/perf_events.h"
#include "kernel/pid_namespace.h"
#include "kernel/process_files.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr uint64_t kCpuLookIntervalNs = 1'000'000'000;
constexpr uint64_t kContextLookIntervalNs = 500'000'000;
constexpr uint64_t kDeletedLookIntervalNs = 10'000'000'000;
constexpr int kShrinkStepMs = 250;  // Between two steps to a smaller budget of unwind tables.
constexpr int kNoTimeout = -1;
constexpr int kMostReadsAtTheEnd = 64;
constexpr int kMostReadsForWaits = 8;
constexpr absl::Duration kMostLookTime = absl::Milliseconds(50);  // Walks in one look.
constexpr int kLastLooks = 4;
constexpr absl::Duration kBetweenLastLooks = absl::Milliseconds(2);
constexpr size_t kMostReadAhead = 16;  // Processes whose JIT code is read before the first tick.

struct KernelFacts {
  std::optional<KernelSymbols> symbols;
  std::unique_ptr<ProcessIterator> processes;
  std::vector<std::string> warnings;
};

// What takes as long as a third of the verification of the sampler's programs, and runs beside it.
KernelFacts ReadKernel() {
  KernelFacts facts;
  LiveCodeEvents live = OpenLiveCodeEvents();
  facts.warnings = std::move(live.warnings);
  if (absl::StatusOr<KernelSymbols> symbols = KernelSymbols::Load({}, std::move(live.events));
      symbols.ok()) {
    facts.symbols = *std::move(symbols);
  } else {
    facts.warnings.push_back("kernel functions have no names: " +
                             std::string(symbols.status().message()));
  }
  if (absl::StatusOr<std::unique_ptr<ProcessIterator>> list = ProcessIterator::Create();
      list.ok()) {
    facts.processes = *std::move(list);
  } else {
    facts.warnings.push_back("processes are looked up in /proc one by one: " +
                             std::string(list.status().message()));
  }
  return facts;
}

}  // namespace

SessionSettings SamplingSession::WithTypes(SessionSettings settings) {
  const auto wants = [&settings](SampleOrigin origin) { return HasType(settings.types, origin); };
  settings.sampler.cpu_clock = wants(SampleOrigin::kCpuClock);
  settings.sampler.off_cpu = wants(SampleOrigin::kOffCpu);
  settings.sampler.off_cpu_rate = settings.off_cpu_rate;
  const uint64_t period = ClosestPageFaultPeriod(settings.page_fault_period);
  settings.sampler.page_faults = wants(SampleOrigin::kPageFaults);
  settings.sampler.page_fault_period = period;
  settings.loop.batch.page_fault_period = static_cast<int64_t>(period);
  return settings;
}

absl::StatusOr<std::unique_ptr<SamplingSession>> SamplingSession::Create(
    SessionSettings settings, SampleLoop::OnSealed on_sealed) {
  std::unique_ptr<SamplingSession> session(new SamplingSession(std::move(settings)));
  std::future<KernelFacts> reading = std::async(std::launch::async, ReadKernel);
  absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::Create(session->settings_.sampler);
  KernelFacts facts = reading.get();
  if (!sampler.ok()) return sampler.status();
  session->sampler_ = *std::move(sampler);
  session->warnings_ = std::move(facts.warnings);
  const std::vector<std::string>& unsampled = session->sampler_->warnings();
  session->warnings_.insert(session->warnings_.end(), unsampled.begin(), unsampled.end());
  session->iterator_ = std::move(facts.processes);
  std::optional<KernelSymbols> kernel = std::move(facts.symbols);
  const SessionSettings& s = session->settings_;
  RowMemory& memory = session->sampler_->row_memory();
  session->files_ = std::make_unique<ExecutableFiles>(s.max_files);
  session->rows_ = std::make_unique<RowStore>(memory, s.unwind_table_bytes);
  session->runtimes_ = std::make_unique<Runtimes>(
      session->sampler_->runtime_memory(),
      Runtimes::Options{.cache_bytes = s.runtime_name_bytes, .async_parents = s.async_parents});
  session->loader_ =
      MakeTableLoader(*session->files_, *session->rows_, s.open_table_bytes, *session->runtimes_);
  session->walk_ = MakeSampleWalk(*session->files_, *session->loader_, memory, *session->runtimes_);
  session->resolver_ =
      std::make_unique<FrameResolver>(*session->files_, std::move(kernel), s.symbol_cache_bytes,
                                      s.native, session->runtimes_.get());
  if (const absl::Status status = session->resolver_->download_status(); !status.ok())
    session->warnings_.push_back("debuginfod is not asked: " + std::string(status.message()));
  session->resolver_->ShowLoopFrames(s.loop_frames);
  session->resolver_->TellJitRows(JitRowsInto(*session->loader_));
  session->runtimes_->of_stack().TellRows(StubRowsInto(*session->loader_));
  session->loop_ = std::make_unique<SampleLoop>(s.loop, *session->resolver_, std::move(on_sealed));
  if (s.sampler.context != CONTEXT_MODE_OFF) {
    session->contexts_ =
        std::make_unique<ThreadContexts>(session->sampler_->context_memory(), *session->files_);
    session->loop_->OnProcessEnd([contexts = session->contexts_.get()](const ProcessId& process) {
      contexts->Forget(process);
    });
  }
  session->captures_ =
      std::make_unique<SessionCaptures>(*session->sampler_, *session->loop_, s.loop);
  session->reader_ = std::make_unique<RingReader>(
      *session->sampler_, *session->walk_,
      std::max<size_t>(RecordQueue::kMaxBytes, s.sampler.sample_ring_bytes));
  return session;
}

SamplingSession::~SamplingSession() {
  stopping_ = true;
  if (sampler_) sampler_->WakeMissReader();
  if (table_thread_.joinable()) table_thread_.join();
  reader_.reset();
}

// All processes have the one that this one has. Code on a stack of its own that calls it (Go's)
// cannot be walked on in user space, so its rows should be there from the start.
void SamplingSession::LoadVdso() {
  const uint32_t own = OwnPidInProc();
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(own);
  if (!ranges.ok()) return;
  for (const code_range& range : *ranges) {
    if (range.kind != RANGE_VDSO) continue;
    const uint64_t end = range.file_offset + (range.end - range.start);
    for (uint64_t at = range.file_offset; at < end; at += PAGE_TEXT_BYTES)
      loader_->LoadPage(own, range, at).IgnoreError();  // A walk that wants it asks again.
  }
}

// Without its rows, the first stacks of a process's JIT code have guessed callers. Of processes
// that are chosen by their numbers these are read before the first tick.
void SamplingSession::ReadJitCodeAhead() {
  const std::span<const uint32_t> pids = sampler_->targets().NamedPids(0);
  if (iterator_ == nullptr || pids.empty() || pids.size() > kMostReadAhead) return;
  const absl::Status listed = iterator_->Read([&](std::span<const uint8_t> bytes) {
    const absl::StatusOr<Record> record = DecodeRecord(bytes);
    const auto* process = record.ok() ? std::get_if<ProcessEvent>(&*record) : nullptr;
    if (process != nullptr && std::ranges::find(pids, process->record->process.pid) != pids.end())
      resolver_->ReadJitCodeAhead(ProcessIdOf(process->record->process));
  });
  listed.IgnoreError();  // Whoever is missing is read at the first sample.
}

absl::Status SamplingSession::Start() {
  LoadVdso();
  ReadJitCodeAhead();
  table_thread_ = std::thread([this] { AnswerMisses(); });
  reader_->Start();
  if (absl::Status status = sampler_->Start(); !status.ok()) return status;
  running_ = true;
  // Before anything of the ring is taken: the ends of these waits lie there.
  if (settings_.sampler.off_cpu) LookAtWaits(WaitLooks::kMostDueNs, EarlierWaits::kMostTime);
  ListProcesses();  // After the events have begun, so that no process falls between the two.
  return absl::OkStatus();
}

// A list that breaks off has told the truth so far, but not who is gone.
void SamplingSession::ListProcesses() {
  loop_->BeginProcessList();
  const bool complete =
      iterator_ != nullptr && iterator_->Read([this](auto bytes) { loop_->Take({bytes}); }).ok();
  if (complete) {
    loop_->EndProcessList();
  } else {
    loop_->EndGoneProcesses();
  }
}

// What of a stack was read while its thread came back is thrown away.
void SamplingSession::LookAtWaits(uint64_t due_ns, absl::Duration most_time) {
  if (!sampler_->FollowsWaits()) return;
  if (wait_walk_ == nullptr)
    wait_walk_ = MakeSampleWalk(*files_, *loader_, sampler_->row_memory(), *runtimes_);
  EarlierWaits waits(*wait_walk_, most_time);
  const auto still_waits = [this](const sample_record& record) {
    return sampler_->WaitsSince(record.tid) == record.header.time_ns;
  };
  loop_->BeginWaitLook();
  const absl::Status looked = sampler_->ListWaiting(due_ns, [&](std::span<const uint8_t> bytes) {
    waits.Take(bytes, [&](const TakenRecord& taken) {
      const auto& header = *reinterpret_cast<const record_header*>(taken.bytes.data());
      if (header.type != RECORD_SAMPLE || taken.bytes.size() < sizeof(sample_record) ||
          still_waits(*reinterpret_cast<const sample_record*>(taken.bytes.data())))
        loop_->Take(taken);
    });
  });
  if (looked.ok())
    loop_->EndWaitLook([this](uint32_t tid) { return sampler_->FollowsThread(tid); });
  if (!looked.ok() && !std::exchange(said_unlooked_, true))
    warnings_.push_back("waiting threads are missing: " + std::string(looked.message()));
  wait_looks_.End(BootTimeNs(), waits.stacks(), limits_.off_cpu_rate,
                  static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// The ring first: what the table knows is then older than the list.
void SamplingSession::LookForLostEvents(const counters& now) {
  const uint64_t lost = now.value[COUNT_EVENT_RING_FULL];
  if (lost == seen_lost_events_ || !running_) return;
  seen_lost_events_ = lost;
  TakeAll(0);
  ListProcesses();
}

// The table writer. A damaged record of the ring is nobody's loss here: the page is asked for
// again. A walk asks for the first page that it misses; the sample that came with it is finished
// right away, which loads the others, before the next tick asks for one of them. The reader of the
// ring may wait for this thread's lock, so this one has its priority.
void SamplingSession::AnswerMisses() {
  PreferThisThread();
  int timeout_ms = kNoTimeout;
  while (!stopping_) {
    bool answered = false;
    sampler_->ReadMisses(timeout_ms, [&](std::span<const uint8_t> bytes) {
      const absl::StatusOr<Record> record = DecodeRecord(bytes);
      if (record.ok()) AnswerMiss(*record);
      answered = true;
    });
    if (answered) reader_->ReadNow();
    timeout_ms = loader_->KeepRowBudget() ? kShrinkStepMs : kNoTimeout;
  }
}

void SamplingSession::AnswerMiss(const Record& record) {
  const auto waited = [this](const record_header& header, TableWaits* waits) {
    const uint64_t ns = BootTimeNs() - header.time_ns;
    const absl::MutexLock lock(&waits_mutex_);
    ++waits->count;
    waits->sum_ns += ns;
    waits->longest_ns = std::max(waits->longest_ns, ns);
  };
  if (const auto* miss = std::get_if<TableMiss>(&record)) {
    loader_->HandleMiss(*miss->record);
    waited(miss->record->header, &after_miss_);
  }
  if (const auto* exec = std::get_if<ProcessEvent>(&record)) {
    loader_->LoadAhead(exec->record->process.pid, exec->record->executable,
                       PathOf(exec->executable));
    waited(exec->record->header, &after_exec_);
  }
}

int SamplingSession::TakeAll(int timeout_ms) {
  return reader_->Take(timeout_ms, [this](const TakenRecord& record) { loop_->Take(record); });
}

void SamplingSession::Turn(int timeout_ms) {
  TakeAll(timeout_ms);
  loop_->TakeLines();
  resolver_->FollowKernel();
  const uint64_t now = BootTimeNs();
  FollowContexts(now);
  if (!running_ || now < next_cpu_look_ns_) return;
  next_cpu_look_ns_ = now + kCpuLookIntervalNs;
  if (now >= next_deleted_look_ns_) {
    next_deleted_look_ns_ = now + kDeletedLookIntervalNs;
    loop_->DropDeletedFiles(now);
    loader_->DropDeleted();
    files_->DropDeleted();
  }
  FollowCpus();
  captures_->FollowServices();
  LookForLostEvents(sampler_->Counters());
}

// A short request of a new process should not be over before its context is read: hence not once a
// second.
void SamplingSession::FollowContexts(uint64_t now_ns) {
  if (contexts_ == nullptr || !running_ || now_ns < next_context_look_ns_) return;
  contexts_->SetLabelTargets(sampler_->targets().LabelNames());
  next_context_look_ns_ = now_ns + kContextLookIntervalNs;
  loop_->FollowContexts([&](const ProcessId& process, const ContextWatch& watch) {
    contexts_->Follow(process, watch, now_ns);
  });
}

// What fails now is tried again in a second.
void SamplingSession::FollowCpus() {
  const CpuChanges::Changes changes = cpu_changes_.Take();
  const absl::StatusOr<std::vector<int>> online = online_cpus_.Read();
  if (!online.ok()) return;
  const auto follow = [this](std::span<const int> cpus) {
    resolver_->FollowCpus(cpus);
    (void)sampler_->FollowCpus(cpus);
  };
  // One that went and came back is let go first.
  if (changes.lost || !changes.cpus.empty()) {
    std::vector<int> stayed;
    if (!changes.lost)
      std::ranges::set_difference(*online, changes.cpus, std::back_inserter(stayed));
    follow(stayed);
  }
  follow(*online);
}

void SamplingSession::AddLosses() {
  const counters now = sampler_->Counters();
  const uint64_t ring_full = now.value[COUNT_RING_FULL], busy = now.value[COUNT_SCRATCH_BUSY];
  loop_->AddLost(static_cast<uint64_t>(SamplingLoss::kRingFull), ring_full - seen_ring_full_);
  loop_->AddLost(static_cast<uint64_t>(SamplingLoss::kScratchBusy), busy - seen_scratch_busy_);
  seen_ring_full_ = ring_full;
  seen_scratch_busy_ = busy;
}

void SamplingSession::TakeWaitsUntilNow() {
  for (int i = 0; i < kMostReadsForWaits && TakeAll(0) > 0; ++i) continue;
}

// All that the kernel has reported by now, because a wait whose end is not known counts as open:
// once before the look, which replaces the waits that it meets, and once behind it.
void SamplingSession::ShipWaits(uint64_t due_ns) {
  if (!sampler_->FollowsWaits()) return;
  if (running_) {
    TakeWaitsUntilNow();
    LookAtWaits(due_ns, kMostLookTime);
  }
  const uint64_t now = BootTimeNs();
  TakeWaitsUntilNow();
  const uint64_t lost_ends = sampler_->Counters().value[COUNT_WAIT_END_LOST];
  if (std::exchange(seen_lost_wait_ends_, lost_ends) != lost_ends)
    loop_->CheckWaits([this](uint32_t tid) { return sampler_->WaitsSince(tid); });
  loop_->ShipWaits(now);
}

// A thread that is not found blocked now may be a moment later.
void SamplingSession::ShipLastWaits() {
  if (!sampler_->FollowsWaits()) return;
  for (int i = 0; i < kLastLooks; ++i) {
    if (i != 0) absl::SleepFor(kBetweenLastLooks);
    ShipWaits(WaitLooks::kLeastDueNs);
  }
}

// Waits that are open ship a part into the batches of all captures at once, so these are sealed
// together.
void SamplingSession::Seal() {
  ShipWaits();
  AddLosses();
  loop_->Seal();
  captures_->SealAll();
}

absl::StatusOr<int> SamplingSession::StartCapture(const CaptureOptions& options,
                                                  SampleLoop::OnSealed on_sealed) {
  const bool heard_of_all = sampler_->targets().HearsOfAll();
  ShipWaits();  // The time so far is of the captures so far.
  const bool wants_labels = std::ranges::any_of(options.targets, [](const TargetSettings& target) {
    return target.kind == TargetKind::kLabel;
  });
  if (wants_labels && contexts_ == nullptr)
    return absl::FailedPreconditionError("labels are not read: the agent runs with --context off");
  absl::StatusOr<int> capture = captures_->Start(options, std::move(on_sealed));
  if (contexts_ != nullptr) contexts_->SetLabelTargets(sampler_->targets().LabelNames());
  if (capture.ok() && !heard_of_all && sampler_->targets().HearsOfAll()) ListProcesses();
  return capture;
}

CaptureCounts SamplingSession::EndCapture(int capture) {
  ShipWaits();
  captures_->Stop(capture);
  for (int i = 0; i < kMostReadsAtTheEnd && TakeAll(0) > 0; ++i) continue;
  return captures_->End(capture);
}

absl::Status SamplingSession::Limit(const SessionLimits& limits) {
  const SessionLimits old = std::exchange(limits_, limits);
  if (limits.unwind_table_bytes != old.unwind_table_bytes ||
      limits.frame_pointers != old.frame_pointers) {
    loader_->SetLimits(
        {.row_budget_bytes = limits.unwind_table_bytes, .ahead = !limits.frame_pointers});
    sampler_->WakeMissReader();
  }
  sampler_->AllowSlices(!limits.frame_pointers);
  sampler_->SetOffCpuRate(limits.off_cpu_rate);
  if (limits.symbol_cache_bytes != old.symbol_cache_bytes)
    resolver_->SetCacheBytes(limits.symbol_cache_bytes);
  if (limits.frequency_hz == old.frequency_hz) return absl::OkStatus();
  absl::StatusOr<uint64_t> from_ns = sampler_->SetFrequency(limits.frequency_hz);
  if (!from_ns.ok()) return from_ns.status();
  AddLosses();  // Those so far are of the old rate.
  loop_->ChangeFrequency(limits.frequency_hz, *from_ns);
  return absl::OkStatus();
}

void SamplingSession::Stop() {
  if (running_) ShipLastWaits();
  running_ = false;
  sampler_->Stop();
  // No more samples come, but processes still begin and end.
  for (int i = 0; i < kMostReadsAtTheEnd && TakeAll(0) > 0; ++i) continue;
  Seal();
}

SessionCounts SamplingSession::Counts() {
  SessionCounts counts;
  counts.kernel = sampler_->Counters();
  counts.loop = loop_->counts();
  // A tick on another CPU counts itself as produced first and as lost later, and its row of
  // counters is copied in between: whatever is known to be taken or lost was produced.
  // Parts of waits are produced here.
  const uint64_t settled = counts.loop.samples + counts.lost();
  counts.produced =
      std::max<uint64_t>(counts.kernel.value[COUNT_PRODUCED] + counts.loop.wait_parts, settled);
  counts.in_flight = counts.produced - settled + counts.loop.samples - counts.loop.sealed_samples;
  counts.frames = resolver_->counts();
  if (contexts_ != nullptr) counts.contexts = contexts_->counts();
  counts.map_bytes = sampler_->MapBytes();
  counts.cache_bytes = resolver_->cache_bytes();
  {
    const absl::MutexLock lock(&waits_mutex_);
    counts.after_exec = after_exec_;
    counts.after_miss = after_miss_;
  }
  absl::MutexLock lock(&loader_->mutex());
  counts.tables = rows_->statistics();
  return counts;
}

}  // namespace stackray
