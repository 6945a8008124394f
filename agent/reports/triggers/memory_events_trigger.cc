// A cgroup that came to its memory limit: memory.events of version 2, memory.failcnt and
// memory.oom_control of version 1.
#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "agent/reports/bounded_read.h"
#include "agent/reports/triggers/triggers.h"

namespace stackray {
namespace {

constexpr size_t kMostBytes = 4096;

struct EventFile {
  const char* file;
  const char* key;  // Empty: the file holds one number.
  const char* text;
};
constexpr EventFile kFiles[] = {
    {"memory.events", "high", "was throttled at memory.high"},
    {"memory.events", "max", "came to memory.max"},
    {"memory.events", "oom_kill", "had a process killed for want of memory"},
    {"memory.failcnt", "", "came to memory.limit_in_bytes"},
    {"memory.oom_control", "oom_kill ", "had a process killed for want of memory"}};

class MemoryEventsTrigger : public ReportTrigger {
 public:
  explicit MemoryEventsTrigger(ReportTriggerEntry entry) : entry_(std::move(entry)) {}

  std::optional<TriggerFiring> Look(const TriggerMoment&) override {
    std::string reason;
    bool was_killed = false;
    for (const EventFile& file : kFiles) {
      const std::optional<uint64_t> number = ReadNumber(file);
      if (!number) continue;
      const auto [before, is_new] = before_.try_emplace(&file, *number);
      const uint64_t last = std::exchange(before->second, *number);
      if (is_new || *number <= last) continue;
      reason += fmt::format("{}{} {} {} times", reason.empty() ? "" : "; ", entry_.cgroup,
                            file.text, *number - last);
      was_killed |= std::string_view(file.key).starts_with("oom_kill");
    }
    const bool was_busy = std::exchange(is_busy_, !reason.empty());
    if (reason.empty() || was_busy) return std::nullopt;
    // The cgroup may be empty by now.
    if (was_killed) return TriggerFiring{.reason = std::move(reason)};
    return TriggerFiring{.reason = std::move(reason), .target = TargetOfCgroup(entry_.cgroup)};
  }

 private:
  std::optional<uint64_t> ReadNumber(const EventFile& file) const {
    const absl::StatusOr<std::string> text =
        ReadBounded(fmt::format("{}/{}", entry_.cgroup, file.file), kMostBytes);
    if (!text.ok()) return std::nullopt;
    if (file.key[0] != '\0') return NumberOf(*text, file.key);
    return std::strtoull(text->c_str(), nullptr, 10);
  }

  const ReportTriggerEntry entry_;
  std::map<const EventFile*, uint64_t> before_;
  bool is_busy_ = false;  // Something happened in the last second, too.
};

}  // namespace

MadeTrigger MakeMemoryEventsTrigger(const ReportTriggerEntry& entry, HostEvents&) {
  return std::make_unique<MemoryEventsTrigger>(entry);
}

}  // namespace stackray
