#include "reporter/formats/profile_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "reporter/formats/resource_keys.h"
#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

void Increase(int64_t* sum, int64_t count) { *sum = SaturatingAdd(*sum, count); }

// 1234567 as "1,234,567".
std::string Grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(i, ",");
  return digits;
}

// Rounded down, so that "100.0 %" means all.
std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "none";
  const double tenths = std::floor(1000.0 * static_cast<double>(part) / static_cast<double>(whole));
  return fmt::format("{:.1f} %", tenths / 10);
}

}  // namespace

struct SummaryCounter::FrameKind {
  enum Class : uint8_t { kUser, kKernel, kLost, kCut, kOtherMarker };

  explicit FrameKind(const DecodedFrame& frame) {
    const std::string_view name =
        frame.lines.empty() ? std::string_view() : frame.lines[0].function;
    named = !name.empty();
    if (frame.type == "kernel") {
      is = kKernel;
    } else if (frame.type == "abort-marker") {
      const bool cut = name.starts_with("[truncated") || name.starts_with("[unknown");
      is = name.starts_with("[lost") ? kLost : cut ? kCut : kOtherMarker;
    }
  }
  Class is = kUser;
  bool named = false;
};

int64_t ProfileSummary::frames() const { return SaturatingAdd(user_frames, kernel_frames); }
int64_t ProfileSummary::named_frames() const { return SaturatingAdd(user_named, kernel_named); }

void SummaryCounter::Add(const DecodedBatch& batch) {
  if (batch.samples.empty()) return;
  AddTimes(batch);
  for (const DecodedResource& resource : batch.resources) {
    const std::string_view pid = FindAttribute(resource, kProcessPid);
    if (pid.empty() || pid == "0" || processes_.size() >= kMaxProcesses) continue;
    processes_.insert(Concat(pid, " ", FindAttribute(resource, kProcessCreationTime)));
  }
  const std::vector<FrameKind> kinds(batch.frames.begin(), batch.frames.end());
  for (const DecodedSample& sample : batch.samples) {
    if (sample.count > 0) AddSample(sample, kinds);
  }
}

void SummaryCounter::AddTimes(const DecodedBatch& batch) {
  const int64_t start = std::max<int64_t>(batch.start_unix_ns, 0);
  const int64_t end = SaturatingAdd(start, std::max<int64_t>(batch.duration_ns, 0));
  sums_.start_unix_ns = empty_ ? start : std::min(sums_.start_unix_ns, start);
  sums_.end_unix_ns = std::max(sums_.end_unix_ns, end);
  if (sums_.period_ns <= 0 && std::isfinite(batch.period_ns)) sums_.period_ns = batch.period_ns;
  empty_ = false;
}

void SummaryCounter::AddSample(const DecodedSample& sample, const std::vector<FrameKind>& kinds) {
  bool user = false, cut = false;
  for (const int32_t frame : sample.frames) {
    if (frame < 0 || static_cast<size_t>(frame) >= kinds.size()) continue;
    const FrameKind& kind = kinds[frame];
    if (kind.is == FrameKind::kLost && sample.frames.size() == 1) {
      Increase(&sums_.lost, sample.count);
      return;
    }
    if (kind.is == FrameKind::kKernel) {
      Increase(&sums_.kernel_frames, sample.count);
      if (kind.named) Increase(&sums_.kernel_named, sample.count);
      continue;
    }
    user = true;
    if (kind.is == FrameKind::kCut) cut = true;
    if (kind.is != FrameKind::kUser) continue;
    Increase(&sums_.user_frames, sample.count);
    if (kind.named) Increase(&sums_.user_named, sample.count);
  }
  Increase(&sums_.samples, sample.count);
  if (user) Increase(&sums_.user_stacks, sample.count);
  if (user && !cut) Increase(&sums_.complete, sample.count);
}

ProfileSummary SummaryCounter::summary() const {
  ProfileSummary summary = sums_;
  summary.processes = static_cast<int64_t>(processes_.size());
  return summary;
}

std::string FormatSummary(const ProfileSummary& s) {
  const double seconds = static_cast<double>(s.end_unix_ns - s.start_unix_ns) / 1e9;
  std::string text = fmt::format("{} {} of {} {} in {:.1f} s", Grouped(s.samples),
                                 s.samples == 1 ? "sample" : "samples", Grouped(s.processes),
                                 s.processes == 1 ? "process" : "processes", seconds);
  if (s.period_ns > 0) fmt::format_to(std::back_inserter(text), " at {:.4g} Hz", 1e9 / s.period_ns);
  AppendAll(&text, ", ", s.lost == 0 ? "none" : Grouped(s.lost), " lost\n");
  AppendAll(&text, "user stacks: ", Grouped(s.complete), " of ", Grouped(s.user_stacks),
            " complete (", Percent(s.complete, s.user_stacks), ")\n");
  AppendAll(&text, "frames: ", Grouped(s.named_frames()), " of ", Grouped(s.frames()), " named (",
            Percent(s.named_frames(), s.frames()), "); user ", Percent(s.user_named, s.user_frames),
            ", kernel ", Percent(s.kernel_named, s.kernel_frames), "\n");
  return text;
}

}  // namespace stackray
