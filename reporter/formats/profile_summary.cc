#include "reporter/formats/profile_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "profile/sample_types.h"
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

FrameKind::FrameKind(const WalkedFrame& frame)
    : FrameKind(frame.type, frame.lines.empty() ? std::string_view() : frame.lines[0].function,
                frame.marker) {}

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

ProfileSummary JoinSummaries(std::vector<ProfileSummary> parts) {
  const auto is_used = [](const ProfileSummary& s) { return s.samples > 0 || s.lost > 0; };
  ProfileSummary joined;
  bool is_first = true;
  for (ProfileSummary& part : parts) {
    if (!is_used(part)) continue;
    if (std::exchange(is_first, false))
      joined = std::move(part);
    else
      joined.others.push_back(std::move(part));
  }
  return joined;
}

// What the stacks of a batch are, each looked at once.
struct SummaryCounter::Stacks {
  explicit Stacks(const BatchWalk& walk) : batch(walk), facts(walk.stacks()) {
    WalkedFrame frame;
    kinds.reserve(walk.frames());
    for (uint32_t i = 0; i < walk.frames(); ++i) {
      walk.ReadFrame(i, &frame);
      kinds.emplace_back(frame);
    }
  }
  const StackFacts& Of(uint32_t stack) {
    if (facts[stack]) return *facts[stack];
    batch.ReadStack(stack, &locations);
    StackFacts& known = facts[stack].emplace();
    for (const uint32_t location : locations) known.Add(kinds[location], locations.size() == 1);
    return known;
  }

  const BatchWalk& batch;
  std::vector<FrameKind> kinds;
  std::vector<std::optional<StackFacts>> facts;
  std::vector<uint32_t> locations;
};

void SummaryCounter::Add(const BatchWalk& batch) {
  if (batch.samples() == 0) return;
  AddTimes(batch);
  Stacks stacks(batch);
  ProfileSummary* sums = nullptr;
  std::string_view command;
  batch.Visit(
      [&](const WalkedResource& resource) {
        AddProcess(resource);
        command = resource.command;
      },
      [&](const WalkedProfile& profile) {
        sums = SumsOf(profile);
        if (sums != &sums_[0] || sums->period_ns > 0 ||
            profile.period_type != TypeOf(SampleOrigin::kCpuClock).period_type)
          return;
        sums->period_ns = static_cast<double>(profile.period);
      },
      [&](const WalkedSample& sample) {
        if (sums == nullptr || sample.total <= 0) return;
        AddStack(stacks.Of(sample.stack), sample.events, command, sums);
        sums->value = SaturatingAdd(sums->value, sample.total);
        for (size_t kind = 1; kind < kWaitKinds; ++kind)
          if (sample.wait == WaitKindName(static_cast<WaitKind>(kind)))
            sums->waits[kind] = SaturatingAdd(sums->waits[kind], sample.total);
      });
}

ProfileSummary* SummaryCounter::SumsOf(const WalkedProfile& profile) {
  for (ProfileSummary& sums : sums_)
    if (sums.type == profile.type && sums.unit == profile.unit) return &sums;
  if (sums_.size() >= kMaxTypes) return nullptr;
  sums_.emplace_back();
  sums_.back().type = profile.type;
  sums_.back().unit = profile.unit;
  return &sums_.back();
}

void SummaryCounter::AddProcess(const WalkedResource& resource) {
  if (resource.pid == 0 || processes_.size() >= kMaxProcesses) return;
  processes_.insert(Concat(resource.pid, " ", resource.creation_time));
}

void SummaryCounter::AddTimes(const BatchWalk& batch) {
  const int64_t start = batch.start_unix_ns();
  start_unix_ns_ = empty_ ? start : std::min(start_unix_ns_, start);
  end_unix_ns_ = std::max(end_unix_ns_, batch.end_unix_ns());
  empty_ = false;
}

ProfileSummary SummaryCounter::summary() const {
  ProfileSummary summary = JoinSummaries(sums_);
  summary.period_ns = sums_[0].period_ns;
  summary.processes = static_cast<int64_t>(processes_.size());
  summary.start_unix_ns = start_unix_ns_;
  summary.end_unix_ns = end_unix_ns_;
  return summary;
}

namespace {

// " (blocked 1.234 s, run queue 0.567 s)" of those that there are.
std::string Waits(const ProfileSummary& s) {
  std::string text;
  for (size_t kind = 1; kind < kWaitKinds; ++kind) {
    if (s.waits[kind] == 0) continue;
    const std::string name = WaitText(WaitKindName(static_cast<WaitKind>(kind)));
    fmt::format_to(std::back_inserter(text), "{}{} {:.3f} s", text.empty() ? " (" : ", ", name,
                   static_cast<double>(s.waits[kind]) / 1e9);
  }
  return text.empty() ? "" : text + ")";
}

// "12.345 s in all" of nanoseconds, with what was waited for, "1,234 bytes in all", "1,234 in all".
std::string InAll(const ProfileSummary& s) {
  if (s.unit == "nanoseconds")
    return fmt::format("{:.3f} s in all{}", static_cast<double>(s.value) / 1e9, Waits(s));
  const bool is_count = s.unit == "count" || s.unit.empty();
  return Concat(Grouped(s.value), is_count ? "" : " ", is_count ? "" : PrintableText(s.unit),
                " in all");
}

std::string Lost(const ProfileSummary& s) {
  return Concat(s.lost == 0 ? "none" : Grouped(s.lost), " lost\n");
}

std::string FirstLine(const ProfileSummary& s) {
  const double seconds = static_cast<double>(s.end_unix_ns - s.start_unix_ns) / 1e9;
  const std::string what =
      s.type == "samples" ? std::string(s.samples == 1 ? "sample" : "samples")
                          : Concat(PrintableText(s.type), s.samples == 1 ? " event" : " events");
  std::string text =
      fmt::format("{} {} of {} {} in {:.1f} s", Grouped(s.samples), what, Grouped(s.processes),
                  s.processes == 1 ? "process" : "processes", seconds);
  if (s.type != "samples")
    AppendAll(&text, ", ", InAll(s));
  else if (s.period_ns > 0)
    fmt::format_to(std::back_inserter(text), " at {:.4g} Hz", 1e9 / s.period_ns);
  return Concat(text, ", ", Lost(s));
}

}  // namespace

std::string FormatSummary(const ProfileSummary& s) {
  std::string text = FirstLine(s);
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
  for (const ProfileSummary& other : s.others)
    AppendAll(&text, PrintableText(other.type), ": ", Grouped(other.samples),
              other.samples == 1 ? " event, " : " events, ", InAll(other), ", ", Lost(other));
  return text;
}

std::string UnnamedSentence(const ProfileSummary& s) {
  return s.unnamed.Sentence(s.frames(), s.kernel_named == 0);
}

}  // namespace stackray
