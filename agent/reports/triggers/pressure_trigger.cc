// Pressure stall information (Documentation/accounting/psi.rst): how long some task waited for
// memory, a CPU or I/O. The `total` of the file is read, so the window is ours and no right is
// needed.
#include <fmt/format.h>

#include <deque>
#include <utility>

#include "agent/reports/bounded_read.h"
#include "agent/reports/triggers/triggers.h"

namespace stackray {
namespace {

constexpr size_t kMostBytes = 4096;
constexpr double kNsPerUs = 1000, kNsPerMs = 1e6;

class PressureTrigger : public ReportTrigger {
 public:
  PressureTrigger(ReportTriggerEntry entry, std::string path)
      : entry_(std::move(entry)), path_(std::move(path)) {}

  std::vector<TriggerFiring> Look(const TriggerMoment& now) override {
    const absl::StatusOr<std::string> text = ReadBounded(path_, kMostBytes);
    const std::optional<uint64_t> total_us =
        text.ok() ? PressureTotalUs(*text) : std::optional<uint64_t>();
    if (!total_us) {  // A cgroup that is gone begins anew when it comes back.
      looks_.clear();
      return {};
    }
    looks_.push_back({now.boot_ns, *total_us});
    const auto window_ns = static_cast<uint64_t>(static_cast<double>(entry_.window_ms) * kNsPerMs);
    while (looks_.size() > 2 && now.boot_ns - looks_[1].boot_ns >= window_ns) looks_.pop_front();
    if (now.boot_ns - looks_.front().boot_ns < window_ns) return {};
    const double percent = PercentSince(looks_.front());
    const bool was_above = std::exchange(is_above_, percent >= entry_.above_percent);
    if (!is_above_ || was_above) return {};
    return {TriggerFiring{.reason = fmt::format("{} of {} was {:.0f} % over {} s", entry_.kind,
                                                entry_.cgroup.empty() ? "the host" : entry_.cgroup,
                                                percent, entry_.window_ms / 1000),
                          .target = TargetOfCgroup(entry_.cgroup)}};
  }

 private:
  struct Read {
    uint64_t boot_ns = 0, total_us = 0;
  };

  static std::optional<uint64_t> PressureTotalUs(const std::string& text) {
    const size_t some = text.find("some "), total = text.find("total=", some);
    if (some != 0 || total == std::string::npos) return std::nullopt;
    return std::strtoull(text.c_str() + total + 6, nullptr, 10);
  }

  double PercentSince(const Read& before) const {
    const Read& last = looks_.back();
    if (last.total_us < before.total_us || last.boot_ns <= before.boot_ns) return 0;
    return 100.0 * static_cast<double>(last.total_us - before.total_us) * kNsPerUs /
           static_cast<double>(last.boot_ns - before.boot_ns);
  }

  const ReportTriggerEntry entry_;
  const std::string path_;
  std::deque<Read> looks_;
  bool is_above_ = false;
};

}  // namespace

MadeTrigger MakePressureTrigger(const ReportTriggerEntry& entry, HostEvents&) {
  const std::string what = entry.kind.substr(0, entry.kind.find('-'));
  std::string path = entry.cgroup.empty() ? "/proc/pressure/" + what
                                          : fmt::format("{}/{}.pressure", entry.cgroup, what);
  // A cgroup may come later.
  if (entry.cgroup.empty() && !ReadBounded(path, kMostBytes).ok())
    return absl::FailedPreconditionError(
        fmt::format("{} cannot be read: this kernel keeps no pressure (CONFIG_PSI, psi=1)", path));
  return std::make_unique<PressureTrigger>(entry, std::move(path));
}

}  // namespace stackray
