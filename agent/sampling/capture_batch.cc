#include "agent/sampling/capture_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/sampling/markers.h"

namespace stackray {
namespace {

constexpr char kCaptureNameAttribute[] = "stackray.capture.name";

}  // namespace

CaptureBatch::CaptureBatch(CaptureBatchSettings settings, const LoopClock& clock,
                           FrameResolver& resolver, ProcessTable& processes, AllOpen all_open,
                           OnSealed on_sealed)
    : settings_(std::move(settings)),
      clock_(clock),
      resolver_(resolver),
      processes_(processes),
      all_open_(std::move(all_open)),
      on_sealed_(std::move(on_sealed)),
      batch_settings_(settings_.batch),
      batch_(batch_settings_, settings_.max_bytes) {
  Open();
}

void CaptureBatch::Open() {
  wall_offset_ns_ = clock_.wall_offset_ns();
  batch_start_unix_ns_ = WallTimeNs();
  batch_ = OpenBatch(batch_settings_, batch_.max_bytes);
}

int64_t CaptureBatch::WallTimeNs() const {
  return static_cast<int64_t>(clock_.boot_time_ns()) + wall_offset_ns_;
}

void CaptureBatch::Add(const Observation& seen) {
  if (seen.origin == SampleOrigin::kCpuClock) TakeFrequency(seen.time_ns);
  ++counts_.samples;
  if (seen.wait != WaitKind::kNone) ++counts_.wait_parts;
  AddWithinLimit([&] { AddSample(seen); });
}

// Adds under the size limit: what makes the batch too large goes into the next one, whole.
void CaptureBatch::AddWithinLimit(auto add) {
  batch_.Mark();
  add();
  if (batch_.encoded_bytes() <= batch_.max_bytes) return;
  batch_.Rollback();
  if (batch_.samples() == 0) {  // One sample alone over the limit: nothing can be smaller.
    add();
    return;
  }
  Seal();
  add();
}

void CaptureBatch::DefineProcess(const ProcessId& id, std::string_view command) {
  if (!batch_.NeedsProcess(id)) return;
  ProcessInfo info;
  if (id != ProcessId{}) info = processes_.Describe(id, command, wall_offset_ns_);
  if (!settings_.capture_name.empty())
    info.extra.emplace_back(kCaptureNameAttribute, settings_.capture_name);
  if (settings_.marks_service)
    info.service_name = fmt::format("{} (capture {})", info.service_name, settings_.capture_name);
  batch_.DefineProcess(id, info);
}

void CaptureBatch::CollectFrames(const Observation& seen) {
  frames_.clear();
  resolver_.AppendKernelFrames(seen.kernel, seen.time_ns, batch_, &frames_);
  if ((seen.flags & SAMPLE_KERNEL_CUT) != 0)
    resolver_.AppendMarker(MarkerKey(MarkerKind::kKernelCut), batch_, &frames_);
  const ProcessId id = ProcessIdOf(seen.process);
  resolver_.AppendUserFrames(id, seen.stack.words, IsCompleteEnd(seen.stack.end), seen.stack.ranges,
                             processes_.FilesOf(id), batch_, &frames_);
  if (const std::optional<FrameKey> marker = MarkerForEnd(seen.stack.end))
    resolver_.AppendMarker(*marker, batch_, &frames_);
  if (frames_.empty())  // A sample is never without a stack.
    resolver_.AppendMarker(MarkerKey(MarkerKind::kNoStack), batch_, &frames_);
}

void CaptureBatch::AddSample(const Observation& seen) {
  const ProcessId id = ProcessIdOf(seen.process);
  DefineProcess(id, seen.leader_command);
  CollectFrames(seen);  // Which may find the runtime that names the thread.
  batch_.AddSample({.process = id,
                    .origin = seen.origin,
                    .frames = frames_,
                    .time_unix_ns = static_cast<int64_t>(seen.time_ns) + wall_offset_ns_,
                    .count = 1,
                    .value = seen.value,
                    .tid = seen.tid,
                    .thread_name = batch_settings_.thread_attributes
                                       ? resolver_.ThreadName(id, seen.tid, seen.thread_command)
                                       : std::string_view(),
                    .cpu = static_cast<int32_t>(seen.cpu),
                    .wait = seen.wait,
                    .span = seen.span,
                    .labels = seen.labels});
}

void CaptureBatch::AddLost(uint64_t detail, uint64_t samples) {
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

void CaptureBatch::Seal() {
  resolver_.FinishLines(batch_, all_open_());
  SealedBatchPtr sealed = std::move(batch_).Seal(batch_start_unix_ns_, WallTimeNs());
  Open();
  resolver_.ForgetBatch();
  if (sealed == nullptr) return;
  ++counts_.batches;
  counts_.sealed_samples += sealed->samples - sealed->lost_samples;
  on_sealed_(std::move(sealed));
}

void CaptureBatch::ChangeFrequency(double frequency_hz, uint64_t from_ns) {
  frequency_changes_.push_back({from_ns, frequency_hz});
}

void CaptureBatch::TakeFrequency(uint64_t sample_time_ns) {
  if (frequency_changes_.empty() || sample_time_ns < frequency_changes_.front().from_ns) return;
  while (!frequency_changes_.empty() && sample_time_ns >= frequency_changes_.front().from_ns) {
    batch_settings_.frequency_hz = frequency_changes_.front().frequency_hz;
    frequency_changes_.pop_front();
  }
  batch_.SetFrequency(batch_settings_.frequency_hz);
}

void CaptureBatch::LimitBytes(size_t bytes) {
  batch_.max_bytes = bytes == 0 ? settings_.max_bytes : std::min(bytes, settings_.max_bytes);
}

}  // namespace stackray
