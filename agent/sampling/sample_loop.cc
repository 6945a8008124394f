#include "agent/sampling/sample_loop.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace stackray {
namespace {

ProcessId IdOf(const process_key& key) {
  return {.pid = key.pid, .exec_id = key.exec_id, .start_time_ns = key.start_time_ns};
}

}  // namespace

SampleLoop::SampleLoop(SampleLoopSettings settings, FrameResolver& resolver, OnSealed on_sealed)
    : settings_(std::move(settings)),
      resolver_(resolver),
      on_sealed_(std::move(on_sealed)),
      processes_(settings_.max_processes, settings_.service_names),
      waits_(settings_.waits),
      batch_settings_(settings_.batch),
      batch_(batch_settings_),
      max_batch_bytes_(settings_.max_batch_bytes) {
  OpenBatch();
}

void SampleLoop::OpenBatch() {
  wall_offset_ns_ = settings_.clock.wall_offset_ns();
  batch_start_unix_ns_ = WallTimeNs();
  batch_ = BatchBuilder(batch_settings_);
}

int64_t SampleLoop::WallTimeNs() const {
  return static_cast<int64_t>(settings_.clock.boot_time_ns()) + wall_offset_ns_;
}

void SampleLoop::Take(const TakenRecord& taken) {
  const absl::StatusOr<Record> record = DecodeRecord(taken.bytes);
  if (!record.ok()) {
    ++counts_.damaged_records;
    AddLost(static_cast<uint64_t>(SamplingLoss::kDamagedRecord), 1);
    return;
  }
  if (const auto* sample = std::get_if<RawSample>(&*record)) {
    TakeSample(*sample, taken.finished);
    return;
  }
  if (const auto* code = std::get_if<CodeMemory>(&*record)) {
    resolver_.TakeCode(IdOf(code->record->process), *code);
    return;
  }
  if (const auto* end = std::get_if<WaitEnd>(&*record)) {
    processes_.Advance(end->record->header.time_ns);
    waits_.End(*end->record,
               [this](const OpenWait& wait, const WaitPart& part) { TakeWaitPart(wait, part); });
    return;
  }
  ++counts_.events;
  if (const auto* event = std::get_if<ProcessEvent>(&*record)) {
    processes_.Advance(event->record->header.time_ns);
    processes_.Take(*event);
    if (event->record->header.type == RECORD_EXIT) waits_.EndProcess(event->record->process);
  }
}

void SampleLoop::TakeSample(const RawSample& sample, const WalkResult* finished) {
  const sample_record& record = *sample.record;
  const auto origin = static_cast<SampleOrigin>(record.origin);
  if (origin == SampleOrigin::kCpuClock) TakeFrequency(record.header.time_ns);
  processes_.Advance(record.header.time_ns);
  Stack stack{.words = sample.user, .ranges = sample.ranges, .end = record.end};
  uint32_t flags = record.flags;
  if (finished != nullptr) {
    stack = {.words = finished->words, .ranges = finished->ranges, .end = finished->end};
    flags |= finished->flags;
    ++counts_.finished_here;
  }
  ++counts_.ends[stack.end % END_REASON_COUNT];
  if ((flags & SAMPLE_GUESSED) != 0) ++counts_.guessed;
  if (origin == SampleOrigin::kOffCpu) {
    RawSample from_scheduler = sample;
    from_scheduler.kernel = resolver_.FromScheduler(sample.kernel);
    if (waits_.Begin(from_scheduler, stack.words, stack.ranges, stack.end, flags)) return;
    ++counts_.refused_waits;
    AddLost(static_cast<uint64_t>(SamplingLoss::kTooManyWaits), 1);
    return;
  }
  ++counts_.samples;
  const Observation seen{.process = record.process,
                         .tid = record.tid,
                         .cpu = record.cpu,
                         .leader_command = CommandText(record.leader_command),
                         .thread_command = CommandText(record.thread_command),
                         .kernel = sample.kernel,
                         .flags = flags,
                         .time_ns = record.header.time_ns,
                         .stack = stack,
                         .origin = origin,
                         .value = batch_settings_.page_fault_period};
  AddWithinLimit([&] { AddSample(seen); });
}

// Kernel code is named by what is there now: a function that a thread waits in stays where it is.
void SampleLoop::TakeWaitPart(const OpenWait& wait, const WaitPart& part) {
  ++counts_.samples;
  ++counts_.wait_parts;
  const Observation seen{
      .process = wait.process,
      .tid = wait.tid,
      .cpu = wait.cpu,
      .leader_command = CommandText(wait.leader_command),
      .thread_command = CommandText(wait.thread_command),
      .kernel = wait.kernel(),
      .flags = wait.flags,
      .time_ns = part.end_ns,
      .stack = {.words = wait.user(), .ranges = wait.code_ranges(), .end = wait.end},
      .origin = SampleOrigin::kOffCpu,
      .value = part.value,
      .wait = part.kind};
  AddWithinLimit([&] { AddSample(seen); });
}

void SampleLoop::ShipWaits(uint64_t until_ns) {
  waits_.Ship(until_ns,
              [this](const OpenWait& wait, const WaitPart& part) { TakeWaitPart(wait, part); });
}

// Adds under the size limit: what makes the batch too large goes into the next one, whole.
void SampleLoop::AddWithinLimit(auto add) {
  batch_.Mark();
  add();
  if (batch_.encoded_bytes() <= max_batch_bytes_) return;
  batch_.Rollback();
  if (batch_.samples() == 0) {  // One sample alone over the limit: nothing can be smaller.
    add();
    return;
  }
  Seal();
  add();
}

void SampleLoop::DefineProcess(const ProcessId& id, std::string_view command) {
  if (!batch_.NeedsProcess(id)) return;
  if (id == ProcessId{}) {
    batch_.DefineProcess(id, {});
  } else {
    batch_.DefineProcess(id, processes_.Describe(id, command, wall_offset_ns_));
  }
}

void SampleLoop::CollectFrames(const Observation& seen) {
  frames_.clear();
  resolver_.AppendKernelFrames(seen.kernel, seen.time_ns, batch_, &frames_);
  if ((seen.flags & SAMPLE_KERNEL_CUT) != 0)
    resolver_.AppendMarker(MarkerKey(MarkerKind::kKernelCut), batch_, &frames_);
  const ProcessId id = IdOf(seen.process);
  resolver_.AppendUserFrames(id, seen.stack.words, IsCompleteEnd(seen.stack.end), seen.stack.ranges,
                             processes_.FilesOf(id), batch_, &frames_);
  if (const std::optional<FrameKey> marker = MarkerForEnd(seen.stack.end))
    resolver_.AppendMarker(*marker, batch_, &frames_);
  if (frames_.empty())  // A sample is never without a stack.
    resolver_.AppendMarker(MarkerKey(MarkerKind::kNoStack), batch_, &frames_);
}

void SampleLoop::AddSample(const Observation& seen) {
  const ProcessId id = IdOf(seen.process);
  DefineProcess(id, seen.leader_command);
  CollectFrames(seen);
  batch_.AddSample({.process = id,
                    .origin = seen.origin,
                    .frames = frames_,
                    .time_unix_ns = static_cast<int64_t>(seen.time_ns) + wall_offset_ns_,
                    .count = 1,
                    .value = seen.value,
                    .tid = seen.tid,
                    .thread_name = seen.thread_command,
                    .cpu = static_cast<int32_t>(seen.cpu),
                    .wait = seen.wait});
}

void SampleLoop::AddLost(uint64_t detail, uint64_t samples) {
  if (samples == 0) return;
  counts_.lost += samples;
  AddWithinLimit([&] {
    DefineProcess(ProcessId{}, "");
    frames_.clear();
    resolver_.AppendMarker(MarkerKey(MarkerKind::kLost, detail), batch_, &frames_);
    batch_.AddSample({.process = {},
                      .frames = frames_,
                      .time_unix_ns = WallTimeNs(),
                      .count = static_cast<int64_t>(samples)});
  });
}

void SampleLoop::Seal() {
  resolver_.FinishLines(batch_, max_batch_bytes_);
  SealedBatchPtr sealed = std::move(batch_).Seal(batch_start_unix_ns_, WallTimeNs());
  OpenBatch();
  resolver_.ForgetBatch();
  if (sealed == nullptr) return;
  ++counts_.batches;
  counts_.sealed_samples += sealed->samples - sealed->lost_samples;
  on_sealed_(std::move(sealed));
}

void SampleLoop::ChangeFrequency(double frequency_hz, uint64_t from_ns) {
  frequency_changes_.push_back({from_ns, frequency_hz});
}

void SampleLoop::TakeFrequency(uint64_t sample_time_ns) {
  if (frequency_changes_.empty() || sample_time_ns < frequency_changes_.front().from_ns) return;
  while (!frequency_changes_.empty() && sample_time_ns >= frequency_changes_.front().from_ns) {
    batch_settings_.frequency_hz = frequency_changes_.front().frequency_hz;
    frequency_changes_.pop_front();
  }
  batch_.SetFrequency(batch_settings_.frequency_hz);
}

void SampleLoop::LimitBatchBytes(size_t bytes) {
  max_batch_bytes_ =
      bytes == 0 ? settings_.max_batch_bytes : std::min(bytes, settings_.max_batch_bytes);
}

void SampleLoop::WipeCaches() { resolver_.Wipe(); }

}  // namespace stackray
