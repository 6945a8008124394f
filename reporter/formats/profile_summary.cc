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

void Increase(int64_t* sum, int64_t count, uint32_t times = 1) {
  int64_t product = 0;
  const bool too_much = __builtin_mul_overflow(count, int64_t{times}, &product);
  *sum = SaturatingAdd(*sum, too_much ? INT64_MAX : product);
}

// 1234567 as "1,234,567".
std::string Grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(i, ",");
  return digits;
}

}  // namespace

FrameKind::FrameKind(std::string_view type, std::string_view name, MarkerKind marker)
    : is(type == "kernel" ? kKernel : kUser), no_name(WhyUnnamed(type, name, marker)) {
  switch (marker) {
    case MarkerKind::kLost: is = kLost; break;
    case MarkerKind::kTruncated: is = kCut; break;
    case MarkerKind::kUnknownCode: is = kUnknown; break;
    case MarkerKind::kOutside: is = kOutside; break;
    case MarkerKind::kBetween:
    case MarkerKind::kKernelCut:
    case MarkerKind::kNoStack: is = kNotThere; break;
    default: break;  // A frame, though it may have no name.
  }
}

void StackFacts::Add(const FrameKind& kind, bool alone) {
  switch (kind.is) {
    case FrameKind::kLost: lost |= alone; return;
    case FrameKind::kNotThere: return;
    case FrameKind::kOutside: outside = true; return;
    case FrameKind::kCut: user = cut = true; return;
    case FrameKind::kKernel:
      ++kernel_frames;
      kernel_named += kind.named() ? 1 : 0;
      break;
    case FrameKind::kUnknown: unknown = true; [[fallthrough]];
    case FrameKind::kUser:
      user = true;
      ++user_frames;
      user_named += kind.named() ? 1 : 0;
  }
  if (!kind.named()) ++unnamed[static_cast<size_t>(kind.no_name)];
}

void AddStack(const StackFacts& stack, int64_t count, std::string_view command,
              ProfileSummary* sums) {
  if (stack.lost) return Increase(&sums->lost, count);
  Increase(&sums->kernel_frames, count, stack.kernel_frames);
  Increase(&sums->kernel_named, count, stack.kernel_named);
  Increase(&sums->samples, count);
  if (stack.outside) return Increase(&sums->outside, count);
  for (size_t i = 0; i < kNoNameKinds; ++i) {
    if (stack.unnamed[i] == 0) continue;
    int64_t frames = 0;
    Increase(&frames, count, stack.unnamed[i]);
    sums->unnamed.Add(static_cast<NoName>(i), frames, command);
  }
  Increase(&sums->user_frames, count, stack.user_frames);
  Increase(&sums->user_named, count, stack.user_named);
  if (stack.user) Increase(&sums->user_stacks, count);
  if (stack.user && !stack.cut)
    Increase(stack.unknown ? &sums->through_unknown : &sums->complete, count);
}

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
  std::vector<FrameKind> kinds;
  kinds.reserve(batch.frames.size());
  for (const DecodedFrame& frame : batch.frames) {
    kinds.emplace_back(
        frame.type,
        frame.lines.empty() ? std::string_view() : std::string_view(frame.lines[0].function),
        frame.marker);
  }
  for (const DecodedSample& sample : batch.samples) {
    if (sample.count > 0) AddSample(batch, sample, kinds);
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

void SummaryCounter::AddSample(const DecodedBatch& batch, const DecodedSample& sample,
                               const std::vector<FrameKind>& kinds) {
  StackFacts stack;
  for (const int32_t frame : sample.frames) {
    if (frame < 0 || static_cast<size_t>(frame) >= kinds.size()) continue;
    stack.Add(kinds[frame], sample.frames.size() == 1);
  }
  std::string_view command;
  if (static_cast<size_t>(sample.resource) < batch.resources.size())
    command = FindAttribute(batch.resources[sample.resource], kProcessCommand);
  AddStack(stack, sample.count, command, &sums_);
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
            " complete (", Percent(s.complete, s.user_stacks), ")");
  if (s.through_unknown > 0)
    AppendAll(&text, ", ", Grouped(s.through_unknown),
              " more through code of no file ([unknown jit])");
  if (const int64_t without = s.samples - s.user_stacks - s.outside; without > 0)
    AppendAll(&text, "; ", Grouped(without), without == 1 ? " sample has" : " samples have",
              " none");
  text += '\n';
  if (s.outside > 0)
    AppendAll(&text, "outside this pid namespace: ", Grouped(s.outside),
              " samples, of programs whose files cannot be opened from here\n");
  AppendAll(&text, "frames: ", Grouped(s.named_frames()), " of ", Grouped(s.frames()), " named (",
            Percent(s.named_frames(), s.frames()), "); user ", Percent(s.user_named, s.user_frames),
            ", kernel ", Percent(s.kernel_named, s.kernel_frames), "\n");
  if (const std::string sentence = UnnamedSentence(s); !sentence.empty())
    AppendAll(&text, sentence, "\n");
  return text;
}

std::string UnnamedSentence(const ProfileSummary& s) {
  return s.unnamed.Sentence(s.frames(), s.kernel_named == 0);
}

}  // namespace stackray
