#include "agent/sampling/sample_loop.h"

#include <bit>
#include <utility>
#include <variant>

#include "agent/sampling/markers.h"

namespace stackray {

SampleLoop::SampleLoop(SampleLoopSettings settings, FrameResolver& resolver, OnSealed on_sealed)
    : settings_(std::move(settings)),
      resolver_(resolver),
      processes_(settings_.max_processes, settings_.service_names),
      waits_(settings_.waits),
      contexts_(settings_.labels) {
  AddCapture(0, {.batch = settings_.batch, .max_bytes = settings_.max_batch_bytes},
             std::move(on_sealed));
}

void SampleLoop::AddCapture(int capture, CaptureBatchSettings settings, OnSealed on_sealed) {
  captures_[static_cast<size_t>(capture)] = std::make_unique<CaptureBatch>(
      std::move(settings), settings_.clock, resolver_, processes_, [this] { return AllOpen(); },
      std::move(on_sealed));
}

std::span<OpenBatch* const> SampleLoop::AllOpen() {
  all_open_.clear();
  for (const std::unique_ptr<CaptureBatch>& capture : captures_)
    if (capture != nullptr) all_open_.push_back(&capture->open());
  return all_open_;
}

// A record of a capture that has ended meanwhile is nobody's. One that names none is of capture 0:
// tests' recordings are older than captures.
void SampleLoop::AddTo(uint32_t captures, const Observation& seen) {
  if (captures == 0) captures = CAPTURE_0;
  if ((captures & CAPTURE_0) == 0) ++counts_.of_others;
  for (; captures != 0; captures &= captures - 1) {
    const auto capture = static_cast<size_t>(std::countr_zero(captures));
    if (captures_[capture] != nullptr) captures_[capture]->Add(seen);
  }
}

// There is no room for it.
void SampleLoop::LoseWait(uint32_t captures) {
  ++counts_.refused_waits;
  if (captures == 0) captures = CAPTURE_0;
  for (; captures != 0; captures &= captures - 1) {
    const auto capture = static_cast<size_t>(std::countr_zero(captures));
    if (captures_[capture] != nullptr)
      captures_[capture]->AddLost(static_cast<uint64_t>(SamplingLoss::kTooManyWaits), 1);
  }
}

SampleLoopCounts SampleLoop::counts() const {
  SampleLoopCounts counts = counts_;
  const CaptureBatchCounts& of_batches = captures_[0]->counts();
  counts.samples = of_batches.samples;
  counts.wait_parts = of_batches.wait_parts;
  counts.batches = of_batches.batches;
  counts.lost = of_batches.lost;
  counts.sealed_samples = of_batches.sealed_samples;
  return counts;
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
    resolver_.TakeCode(ProcessIdOf(code->record->process), *code);
    return;
  }
  if (const auto* end = std::get_if<WaitEnd>(&*record)) {
    processes_.Advance(end->record->header.time_ns);
    waits_.End(*end->record,
               [this](const OpenWait& wait, const WaitPart& part) { TakeWaitPart(wait, part); });
    return;
  }
  if (const auto* waited = std::get_if<Waited>(&*record)) {
    waits_.accounts().Look(*waited->record);
    return;
  }
  ++counts_.events;
  if (const auto* event = std::get_if<ProcessEvent>(&*record)) {
    processes_.Advance(event->record->header.time_ns);
    processes_.Take(*event);
    if (event->record->header.type == RECORD_EXIT) waits_.EndProcess(event->record->process);
  }
}

// An index beyond the keys that are known makes the process's keys be read once more, as the OTEP
// asks of readers.
SampleContext SampleLoop::ContextOf(const process_key& process, std::span<const uint8_t> bytes) {
  const std::optional<ThreadContextPart> part = DecodeContext(bytes);
  if (!part) return {};
  const auto read = [&](bool is_outdated) {
    const ProcessContext* const published = processes_.ContextOf(ProcessIdOf(process), is_outdated);
    return contexts_.Read(*part, published == nullptr ? std::span<const std::string>()
                                                      : std::span(published->threads.keys));
  };
  const SampleContext context = read(false);
  return context.knows_all_keys ? context : read(true);
}

void SampleLoop::TakeSample(const RawSample& sample, const WalkResult* finished) {
  const sample_record& record = *sample.record;
  const auto origin = static_cast<SampleOrigin>(record.origin);
  processes_.Advance(record.header.time_ns);
  WalkedStack stack{.words = sample.user, .ranges = sample.ranges, .end = record.end};
  uint32_t flags = record.flags | uint32_t{record.more_flags} << SAMPLE_MORE_SHIFT;
  if (finished != nullptr) {
    stack = {.words = finished->words, .ranges = finished->ranges, .end = finished->end};
    if (finished->is_anew) flags &= ~uint32_t{SAMPLE_GUESSED | SAMPLE_DOUBTED};
    flags |= finished->flags;
    ++counts_.finished_here;
  }
  if ((flags & SAMPLE_DOUBTED) != 0 && IsCompleteEnd(stack.end)) stack.end = END_DOUBTED;
  ++counts_.ends[stack.end % END_REASON_COUNT];
  if ((flags & SAMPLE_GUESSED) != 0) ++counts_.guessed;
  if (origin == SampleOrigin::kOffCpu) {
    RawSample from_scheduler = sample;
    from_scheduler.kernel = resolver_.FromScheduler(sample.kernel);
    if (waits_.Begin(from_scheduler, stack.words, stack.ranges, stack.end, flags)) return;
    LoseWait(record.captures);
    return;
  }
  const SampleContext context = ContextOf(record.process, sample.context);
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
                         .value = settings_.batch.page_fault_period,
                         .span = context.span,
                         .labels = context.labels};
  AddTo(record.captures, seen);
}

// Kernel code is named by what is there now: a function that a thread waits in stays where it is.
void SampleLoop::TakeWaitPart(const OpenWait& wait, const WaitPart& part) {
  const SampleContext context = ContextOf(wait.process, wait.context());
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
      .wait = part.kind,
      .span = context.span,
      .labels = context.labels};
  AddTo(wait.captures, seen);
}

void SampleLoop::ShipWaits(uint64_t until_ns) {
  waits_.Ship(until_ns,
              [this](const OpenWait& wait, const WaitPart& part) { TakeWaitPart(wait, part); });
}

void SampleLoop::WipeCaches() { resolver_.Wipe(); }

}  // namespace stackray
