// SamplingSession::Dump(): reads the stacks of threads that are on no CPU, and waits for ticks of
// those that run.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/clock.h"
#include "agent/sampling/process_dump.h"
#include "agent/sampling/runtime_tables.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/thread_walk.h"
#include "kernel/wall_clock.h"
#include "reporter/formats/batch_walk.h"

namespace stackray {
namespace {

constexpr size_t kMostThreads = 65'536;
constexpr int kTurnMs = 10, kSealMs = 50;

// A thread whose stack was read and is not confirmed yet. The record's bytes are kept: the list's
// own are gone by then.
struct ReadThread {
  thread_record record = {};
  std::vector<uint64_t> kernel;
  WalkResult walked;
};

struct Pass {
  absl::btree_map<uint32_t, DumpedThread> threads;
  absl::flat_hash_set<uint32_t> pending;
  absl::flat_hash_map<uint32_t, ReadThread> read;
  process_key process = {};
  std::string command;
};

bool HasNotRun(const thread_record& before, const thread_record& now) {
  return (now.flags & THREAD_ON_CPU) == 0 && before.run_ns == now.run_ns &&
         before.switches == now.switches &&
         before.sample.process.exec_id == now.sample.process.exec_id;
}

// The process as it is now: threads that are new are to be read, too.
absl::Status List(ThreadList& list, uint32_t pid, Pass& pass, std::vector<ReadThread>* resting) {
  const absl::Status listed = list.Read(pid, [&](const ListedThread& thread) {
    const sample_record& sample = thread.record->sample;
    auto [entry, is_new] = pass.threads.try_emplace(sample.tid);
    if (is_new) {
      if (pass.threads.size() > kMostThreads) return;
      pass.pending.insert(sample.tid);
      entry->second.tid = sample.tid;
      entry->second.name = std::string(CommandText(sample.thread_command));
    }
    pass.process = sample.process;
    pass.command = std::string(CommandText(sample.leader_command));
    if (!pass.pending.contains(sample.tid)) return;
    entry->second.state = thread.record->state;
    if ((thread.record->flags & THREAD_ON_CPU) == 0)
      resting->push_back(
          {*thread.record, {thread.kernel.begin(), thread.kernel.end()}, WalkResult()});
  });
  if (!listed.ok()) return listed;
  return pass.threads.empty() ? absl::NotFoundError(fmt::format("there is no process {}", pid))
                              : absl::OkStatus();
}

void Walk(std::vector<ReadThread>& resting, ThreadWalk& walk) {
  for (ReadThread& thread : resting) {
    if (thread.record.sample.end != END_NONE) {
      thread.walked.end = thread.record.sample.end;
      continue;
    }
    thread.walked = walk.Walk({&thread.record, thread.kernel});
  }
}

absl::Status Confirm(ThreadList& list, uint32_t pid, std::vector<ReadThread> resting, Pass& pass) {
  absl::flat_hash_map<uint32_t, ReadThread*> by_tid;
  for (ReadThread& thread : resting) by_tid.emplace(thread.record.sample.tid, &thread);
  return list.Read(pid, [&](const ListedThread& now) {
    const auto found = by_tid.find(now.record->sample.tid);
    if (found == by_tid.end() || !HasNotRun(found->second->record, *now.record)) return;
    if (pass.pending.erase(found->first) == 0) return;
    pass.threads[found->first].how = DumpedThread::How::kRead;
    pass.read.emplace(found->first, std::move(*found->second));
  });
}

Observation SeenOf(const ReadThread& thread) {
  const sample_record& sample = thread.record.sample;
  return {
      .process = sample.process,
      .tid = sample.tid,
      .cpu = sample.cpu,
      .leader_command = CommandText(sample.leader_command),
      .thread_command = CommandText(sample.thread_command),
      .kernel = thread.kernel,
      .flags = sample.flags | thread.walked.flags,
      .time_ns = sample.header.time_ns,
      .stack = {
          .words = thread.walked.words, .ranges = thread.walked.ranges, .end = thread.walked.end}};
}

// Threads that a batch has samples of are not waited for any more.
void TakeTicks(const SealedBatchPtr& batch, Pass& pass, ProcessDump& dump) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch->bytes);
  if (!walk.ok()) return;
  walk->Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
              [&](const WalkedSample& sample) {
                const auto tid = static_cast<uint32_t>(sample.tid);
                if (pass.pending.erase(tid) != 0)
                  pass.threads[tid].how = DumpedThread::How::kSampled;
              });
  dump.sampled.push_back(batch);
}

// Threads that have not run in between are read; the others stay pending.
absl::Status ReadThreads(ThreadList& list, uint32_t pid, int rounds, ThreadWalk& walk, Pass& pass) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<ReadThread> resting;
    if (absl::Status status = List(list, pid, pass, &resting); !status.ok()) return status;
    if (resting.empty()) break;
    Walk(resting, walk);
    if (absl::Status status = Confirm(list, pid, std::move(resting), pass); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

void WaitForTicks(SamplingSession& session, const DumpOptions& options, Pass& pass,
                  ProcessDump& dump) {
  const TargetSettings target{.kind = TargetKind::kPids, .pids = {dump.pid}, .inherit = false};
  const absl::StatusOr<int> capture =
      session.StartCapture({.name = "dump", .targets = {target}, .frequency_hz = options.tick_hz},
                           [&](const SealedBatchPtr& batch) { TakeTicks(batch, pass, dump); });
  if (!capture.ok()) return;
  const absl::Time end = absl::Now() + options.ticks;
  for (absl::Time seal = absl::Now(); !pass.pending.empty() && absl::Now() < end;) {
    session.Turn(kTurnMs);
    if (absl::Now() < seal) continue;
    session.captures().Seal(*capture);
    seal = absl::Now() + absl::Milliseconds(kSealMs);
  }
  session.EndCapture(*capture);
}

}  // namespace

absl::StatusOr<ProcessDump> SamplingSession::Dump(uint32_t pid, const DumpOptions& options) {
  if (thread_list_ == nullptr) {
    absl::StatusOr<std::unique_ptr<ThreadList>> list = ThreadList::Create();
    if (!list.ok()) return list.status();
    thread_list_ = *std::move(list);
  }
  Pass pass;
  ProcessDump dump{.pid = pid, .time_unix_ns = static_cast<int64_t>(BootTimeNs()) + WallOffsetNs()};
  const std::unique_ptr<SampleWalk> walk =
      MakeSampleWalk(*files_, *loader_, sampler_->row_memory(), *runtimes_);
  ThreadWalk thread_walk(*walk, *loader_, *files_, *runtimes_);
  if (absl::Status status = ReadThreads(*thread_list_, pid, options.rounds, thread_walk, pass);
      !status.ok())
    return status;
  if (!pass.pending.empty()) WaitForTicks(*this, options, pass, dump);
  CaptureBatchSettings batches{.batch = settings_.loop.batch,
                               .max_bytes = settings_.loop.max_batch_bytes};
  batches.batch.keep_timestamps = true;
  batches.batch.thread_attributes = true;
  batches.batch.left_out.clear();
  loop_->AddCapture(kDumpCapture, std::move(batches),
                    [&dump](SealedBatchPtr batch) { dump.read.push_back(std::move(batch)); });
  for (const auto& [tid, thread] : pass.threads)
    if (const auto read = pass.read.find(tid); read != pass.read.end())
      loop_->capture(kDumpCapture)->Add(SeenOf(read->second));
  loop_->capture(kDumpCapture)->Seal();
  loop_->RemoveCapture(kDumpCapture);
  dump.command = std::move(pass.command);
  for (auto& [tid, thread] : pass.threads) {
    thread.name = resolver_->ThreadName(ProcessIdOf(pass.process), tid, thread.name);
    dump.threads.push_back(std::move(thread));
  }
  return dump;
}

}  // namespace stackray
