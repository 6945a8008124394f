// Processes that come to a bad end: the kernel's OOM killer, and signals that nobody handles.
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "agent/reports/bounded_read.h"
#include "agent/reports/triggers/triggers.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kMostVmstatBytes = 64 << 10;

std::string CommandOf(const host_event& event) {
  return std::string(event.command, strnlen(event.command, sizeof(event.command)));
}

class OomTrigger : public ReportTrigger {
 public:
  explicit OomTrigger(HostEvents& events) : events_(events) {}

  std::vector<TriggerFiring> Look(const TriggerMoment&) override {
    std::vector<TriggerFiring> firings;
    for (const host_event& event : events_.events()) {
      if (event.type != HOST_EVENT_OOM_VICTIM) continue;
      const std::string command = CommandOf(event);
      firings.push_back(
          {.reason = fmt::format("the kernel kills process {}{}{} for want of memory", event.pid,
                                 command.empty() ? "" : " ", PrintableText(command)),
           .is_over = true});
    }
    return firings;
  }

 private:
  const HostEvents& events_;
};

// Where the kernel refuses the program: /proc/vmstat counts, and names nobody.
class OomCountTrigger : public ReportTrigger {
 public:
  std::vector<TriggerFiring> Look(const TriggerMoment&) override {
    const std::optional<uint64_t> kills = Kills();
    if (!kills) return {};
    const std::optional<uint64_t> before = std::exchange(before_, kills);
    if (!before || *kills <= *before) return {};
    return {{.reason = fmt::format("the kernel has killed {} processes for want of memory",
                                   *kills - *before),
             .is_over = true}};
  }

 private:
  static std::optional<uint64_t> Kills() {
    const absl::StatusOr<std::string> text = ReadBounded("/proc/vmstat", kMostVmstatBytes);
    return text.ok() ? NumberOf(*text, "oom_kill") : std::nullopt;
  }
  std::optional<uint64_t> before_ = Kills();
};

class SignalTrigger : public ReportTrigger {
 public:
  SignalTrigger(ReportTriggerEntry entry, HostEvents& events)
      : entry_(std::move(entry)), events_(events) {}

  std::vector<TriggerFiring> Look(const TriggerMoment&) override {
    std::vector<TriggerFiring> firings;
    for (const host_event& event : events_.events()) {
      const std::string command = CommandOf(event);
      if (event.type != HOST_EVENT_SIGNAL || (!entry_.command.empty() && command != entry_.command))
        continue;
      const char* const name = sigabbrev_np(static_cast<int>(event.signal));
      firings.push_back(
          {.reason = fmt::format("process {} {} ends by SIG{} in its thread {}", event.pid,
                                 PrintableText(command), name == nullptr ? "?" : name, event.tid),
           .ended_pid = event.pid,
           .ended_tid = event.tid,
           .is_over = true});
    }
    return firings;
  }

 private:
  const ReportTriggerEntry entry_;
  const HostEvents& events_;
};

}  // namespace

MadeTrigger MakeOomTrigger(const ReportTriggerEntry&, HostEvents& events) {
  if (!events.Load().ok()) return std::make_unique<OomCountTrigger>();
  return std::make_unique<OomTrigger>(events);
}

MadeTrigger MakeSignalTrigger(const ReportTriggerEntry& entry, HostEvents& events) {
  if (absl::Status status = events.Load(); !status.ok()) return status;
  return std::make_unique<SignalTrigger>(entry, events);
}

}  // namespace stackray
