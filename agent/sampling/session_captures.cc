#include "agent/sampling/session_captures.h"

#include <algorithm>
#include <utility>

#include "agent/sampling/markers.h"
#include "agent/sampling/targets.h"

namespace stackray {
namespace {

bool HasService(const CaptureOptions& options) {
  return std::ranges::any_of(options.targets, [](const TargetSettings& target) {
    return target.kind == TargetKind::kService;
  });
}

}  // namespace

void CaptureCounts::Add(const CaptureCounts& other) {
  produced += other.produced;
  sealed += other.sealed;
  ring_full += other.ring_full;
  scratch_busy += other.scratch_busy;
  over_budget += other.over_budget;
}

int SessionCaptures::FreeNumber() {
  for (int i = 0; i < MAX_CAPTURES - 1; ++i) {
    const int number = (last_number_ + i) % (MAX_CAPTURES - 1) + 1;
    if (running_[static_cast<size_t>(number)]) continue;
    last_number_ = number;
    return number;
  }
  return 0;
}

absl::Status SessionCaptures::ApplyTargets(int capture, const CaptureOptions& options) {
  for (const TargetSettings& target : options.targets)
    if (absl::Status status = ApplyTarget(target, sampler_, capture); !status.ok()) return status;
  return absl::OkStatus();
}

capture_counters SessionCaptures::KernelCounts(int capture) const {
  const auto number = static_cast<size_t>(capture);
  const capture_counters now = sampler_.Counters().of_capture[number];
  const capture_counters& base = running_[number]->base;
  return {.produced = now.produced - base.produced,
          .ring_full = now.ring_full - base.ring_full,
          .scratch_busy = now.scratch_busy - base.scratch_busy,
          .over_budget = now.over_budget - base.over_budget};
}

absl::StatusOr<int> SessionCaptures::Start(const CaptureOptions& options,
                                           SampleLoop::OnSealed on_sealed) {
  const int capture = FreeNumber();
  if (capture == 0) return absl::ResourceExhaustedError("15 captures run already, and more cannot");
  sampler_.targets().Forget(capture);  // Forks may have named the last one of this number.
  const auto number = static_cast<size_t>(capture);
  running_[number] = Running{
      .options = options, .base = sampler_.Counters().of_capture[number], .service_processes = {}};
  CaptureBatchSettings batches{.batch = settings_.batch,
                               .max_bytes = settings_.max_batch_bytes,
                               .capture_name = options.name,
                               .marks_service = options.marks_service};
  batches.batch.frequency_hz = options.frequency_hz;
  batches.batch.keep_timestamps = true;
  loop_.AddCapture(capture, std::move(batches), std::move(on_sealed));
  absl::Status status = ApplyTargets(capture, options);
  if (status.ok())
    status = sampler_.StartCapture(
        capture,
        {.frequency_hz = HasType(options.types, SampleOrigin::kCpuClock) ? options.frequency_hz : 0,
         .off_cpu = HasType(options.types, SampleOrigin::kOffCpu),
         .page_faults = HasType(options.types, SampleOrigin::kPageFaults),
         .deadly_signals = options.deadly_signals});
  if (status.ok()) {
    FollowServices();
    return capture;
  }
  sampler_.StopCapture(capture);
  loop_.RemoveCapture(capture);
  running_[number].reset();
  return status;
}

void SessionCaptures::Stop(int capture) { sampler_.StopCapture(capture); }

CaptureCounts SessionCaptures::End(int capture) {
  Seal(capture);
  const CaptureCounts counts = Counts(capture);
  loop_.RemoveCapture(capture);
  running_[static_cast<size_t>(capture)].reset();
  return counts;
}

absl::Status SessionCaptures::SetFrequency(int capture, double frequency_hz) {
  Running& running = *running_[static_cast<size_t>(capture)];
  if (running.options.frequency_hz == frequency_hz ||
      !HasType(running.options.types, SampleOrigin::kCpuClock))
    return absl::OkStatus();
  const absl::StatusOr<uint64_t> from_ns = sampler_.SetCaptureFrequency(capture, frequency_hz);
  if (!from_ns.ok()) return from_ns.status();
  AddLosses(capture);  // Those so far are of the old rate.
  running.options.frequency_hz = frequency_hz;
  loop_.capture(capture)->ChangeFrequency(frequency_hz, *from_ns);
  return absl::OkStatus();
}

void SessionCaptures::AddLosses(int capture) {
  Running& running = *running_[static_cast<size_t>(capture)];
  const capture_counters now = KernelCounts(capture);
  const auto add = [&](SamplingLoss loss, uint64_t count, uint64_t* seen) {
    const uint64_t before = std::exchange(*seen, count);
    loop_.capture(capture)->AddLost(static_cast<uint64_t>(loss), count - before);
  };
  add(SamplingLoss::kRingFull, now.ring_full, &running.seen_ring_full);
  add(SamplingLoss::kScratchBusy, now.scratch_busy, &running.seen_busy);
  add(SamplingLoss::kCaptureBudget, now.over_budget, &running.seen_over_budget);
}

void SessionCaptures::Seal(int capture) {
  AddLosses(capture);
  loop_.capture(capture)->Seal();
}

void SessionCaptures::SealAll() {
  for (int capture = 1; capture < MAX_CAPTURES; ++capture)
    if (running_[static_cast<size_t>(capture)]) Seal(capture);
}

// As SamplingSession::Counts(): a tick counts itself as produced before it is anything else.
CaptureCounts SessionCaptures::Counts(int capture) const {
  const capture_counters kernel = KernelCounts(capture);
  const CaptureBatchCounts& batches = loop_.capture(capture)->counts();
  CaptureCounts counts{
      .sealed = batches.sealed_samples,
      .ring_full = kernel.ring_full,
      .scratch_busy = kernel.scratch_busy,
      .over_budget = kernel.over_budget,
      .frequency_hz = running_[static_cast<size_t>(capture)]->options.frequency_hz};
  const uint64_t settled = batches.samples + counts.lost();
  counts.produced = std::max<uint64_t>(kernel.produced + batches.wait_parts, settled);
  counts.in_flight = counts.produced - counts.lost() - counts.sealed;
  return counts;
}

bool SessionCaptures::TargetsEnded(int capture) const {
  const CaptureOptions& options = running_[static_cast<size_t>(capture)]->options;
  return std::ranges::all_of(
             options.targets,
             [](const TargetSettings& target) { return target.kind == TargetKind::kPids; }) &&
         !sampler_.targets().HasPids(capture);
}

// A process that there is no room for is tried again in a second.
void SessionCaptures::AddService(int capture, std::string_view name,
                                 std::span<const ProcessTable::ServiceOf> services,
                                 Running& running) {
  for (const ProcessTable::ServiceOf& service : services) {
    if (service.name != name || running.service_processes.contains(service.process)) continue;
    if (sampler_.targets().AddPid(capture, service.process.pid).ok())
      running.service_processes.insert(service.process);
  }
}

void SessionCaptures::FollowServices() {
  const bool wanted = std::ranges::any_of(
      running_, [](const auto& running) { return running && HasService(running->options); });
  if (!wanted) return;
  const std::vector<ProcessTable::ServiceOf> services = loop_.process_table().Services();
  for (int capture = 1; capture < MAX_CAPTURES; ++capture) {
    std::optional<Running>& running = running_[static_cast<size_t>(capture)];
    if (!running) continue;
    for (const TargetSettings& target : running->options.targets) {
      if (target.kind != TargetKind::kService) continue;
      AddService(capture, target.service_name, services, *running);
    }
  }
}

bool SessionCaptures::empty() const {
  return std::ranges::none_of(running_, [](const auto& running) { return running.has_value(); });
}

}  // namespace stackray
