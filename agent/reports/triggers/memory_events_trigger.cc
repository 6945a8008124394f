// A cgroup that came to its memory limit: memory.events of version 2, memory.failcnt and
// memory.oom_control of version 1.
#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

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
    {"memory.oom_control", "oom_kill", "had a process killed for want of memory"}};

class MemoryEventsTrigger : public ReportTrigger {
 public:
  explicit MemoryEventsTrigger(ReportTriggerEntry entry) : entry_(std::move(entry)) {}

  std::vector<TriggerFiring> Look(const TriggerMoment&) override {
    std::string reason;
    bool was_killed = false, fires = false;
    for (const EventFile& file : kFiles) {
      const std::optional<uint64_t> number = ReadNumber(file);
      if (!number) continue;
      const auto [before, is_new] = before_.try_emplace(&file, Count{.number = *number});
      const uint64_t last = std::exchange(before->second.number, *number);
      const bool was_busy = std::exchange(before->second.is_busy, !is_new && *number > last);
      if (!before->second.is_busy) continue;
      reason += fmt::format("{}{} {} {} times", reason.empty() ? "" : "; ", entry_.cgroup,
                            file.text, *number - last);
      const bool is_kill = std::string_view(file.key).starts_with("oom_kill");
      was_killed |= is_kill;
      fires |= is_kill || !was_busy;
    }
    if (!fires) return {};
    // The cgroup may be empty by now.
    if (was_killed) return {{.reason = std::move(reason), .is_over = true}};
    return {{.reason = std::move(reason), .target = TargetOfCgroup(entry_.cgroup)}};
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
  struct Count {
    uint64_t number = 0;
    bool is_busy = false;  // It rose in the last second, too.
  };
  std::map<const EventFile*, Count> before_;
};

}  // namespace

MadeTrigger MakeMemoryEventsTrigger(const ReportTriggerEntry& entry, HostEvents&) {
  return std::make_unique<MemoryEventsTrigger>(entry);
}

}  // namespace stackray
