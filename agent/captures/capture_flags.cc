#include "agent/captures/capture_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

constexpr int64_t kLookEveryMs = 10'000;
constexpr int64_t kLookEveryMsWithoutInotify = 1000;
constexpr int64_t kLeastBetweenLooksMs = 200;  // Somebody may write all the time.

int64_t SystemSteadyMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// In steps of at most text × glob.
bool GlobMatches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    const bool is_star = g < glob.size() && glob[g] == '*';
    if (is_star) {
      star = g++;
      star_text = t;
    } else if (g < glob.size() &&
               (glob[g] == '?' || absl::ascii_tolower(glob[g]) == absl::ascii_tolower(text[t]))) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;  // The star takes one letter more.
      t = ++star_text;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

// "stackray.yaml" of "stackray.yaml:3".
std::string FileOf(const std::string& origin) {
  const size_t colon = origin.rfind(':');
  const bool has_line = colon != std::string::npos && colon + 1 < origin.size() &&
                        origin.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return has_line ? origin.substr(0, colon) : origin;
}

WantedCapture WantedOf(const CaptureEntry& entry, int64_t now_unix_ns) {
  WantedCapture wanted;
  wanted.spec = {.name = entry.name,
                 .targets = entry.targets,
                 .types = entry.types,
                 .frequency_hz = entry.frequency_hz,
                 .duration_ms = entry.duration_ms.value_or(0),
                 .send = entry.send,
                 .asked_by = FileOf(entry.origin)};
  wanted.until_unix_ns = entry.until_unix_ns;
  wanted.expired = entry.until_unix_ns && *entry.until_unix_ns <= now_unix_ns;
  wanted.source = entry.origin;
  return wanted;
}

}  // namespace

bool HostMatches(const std::vector<std::string>& globs, std::string_view host_name) {
  const std::string_view first = host_name.substr(0, host_name.find('.'));
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) {
           return GlobMatches(glob, host_name) || GlobMatches(glob, first);
         });
}

CaptureSpec WantedCapture::SpecAt(int64_t now_unix_ns) const {
  CaptureSpec at = spec;
  if (until_unix_ns)
    at.duration_ms = std::max<int64_t>(0, *until_unix_ns - now_unix_ns) / 1'000'000;
  return at;
}

CaptureFlags::CaptureFlags(const std::string& directory, std::vector<CaptureEntry> from_config,
                           std::string host_name, std::function<int64_t()> steady_ms)
    : from_config_(std::move(from_config)),
      host_name_(std::move(host_name)),
      steady_ms_(steady_ms ? std::move(steady_ms) : SystemSteadyMs),
      watch_(directory),
      files_(directory) {}

bool CaptureFlags::IsTimeToRead() {
  may_have_changed_ |= watch_.Changed();
  const int64_t now_ms = steady_ms_();
  if (!read_steady_ms_) return true;
  const int64_t since_ms = now_ms - *read_steady_ms_;
  const int64_t every_ms = watch_.works() ? kLookEveryMs : kLookEveryMsWithoutInotify;
  return since_ms >= every_ms || (may_have_changed_ && since_ms >= kLeastBetweenLooksMs);
}

bool CaptureFlags::Look(int64_t now_unix_ns) {
  const bool reads = IsTimeToRead();
  if (!reads && now_unix_ns < next_expiry_unix_ns_) return false;
  if (reads) {
    may_have_changed_ = false;
    read_steady_ms_ = steady_ms_();
    watch_.Renew();
    files_.Read();
  }
  std::vector<WantedCapture> wanted;
  std::vector<CaptureFlagProblem> problems;
  Collect(now_unix_ns, wanted, problems);
  next_expiry_unix_ns_ = INT64_MAX;
  for (const WantedCapture& each : wanted)
    if (each.until_unix_ns && !each.expired)
      next_expiry_unix_ns_ = std::min(next_expiry_unix_ns_, *each.until_unix_ns);
  if (wanted == wanted_ && problems == problems_) return false;
  wanted_ = std::move(wanted);
  problems_ = std::move(problems);
  return true;
}

std::string KeyOf(const WantedCapture& wanted) {
  return fmt::format("{}\n{}", ToJson(wanted.spec).dump(), wanted.until_unix_ns.value_or(0));
}

void CaptureFlags::Collect(int64_t now_unix_ns, std::vector<WantedCapture>& wanted,
                           std::vector<CaptureFlagProblem>& problems) const {
  problems = files_.Problems();
  std::vector<CaptureEntry> entries = from_config_;
  for (CaptureEntry& entry : files_.Entries()) entries.push_back(std::move(entry));
  for (const CaptureEntry& entry : entries) {
    if (!HostMatches(entry.hosts, host_name_)) continue;
    const auto same = std::ranges::find_if(
        wanted, [&](const WantedCapture& other) { return other.spec.name == entry.name; });
    if (same == wanted.end())
      wanted.push_back(WantedOf(entry, now_unix_ns));
    else
      problems.push_back(
          {FileOf(entry.origin),
           fmt::format("the capture {} is asked for at {} already", entry.name, same->source)});
  }
}

}  // namespace stackray
