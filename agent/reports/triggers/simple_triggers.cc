// A timer, a file that appears, and the agent's own budgets.
#include <fmt/format.h>
#include <sys/stat.h>

#include <random>
#include <utility>

#include "agent/reports/triggers/triggers.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

class TimerTrigger : public ReportTrigger {
 public:
  explicit TimerTrigger(ReportTriggerEntry entry) : entry_(std::move(entry)) {}

  std::vector<TriggerFiring> Look(const TriggerMoment& now) override {
    if (next_ns_ == 0) next_ns_ = now.boot_ns + Wait();
    if (now.boot_ns < next_ns_) return {};
    next_ns_ = now.boot_ns + Wait();
    return {TriggerFiring{.reason = fmt::format("every {} s", entry_.every_ms / 1000)}};
  }

 private:
  // Hosts that were started together do not report together.
  uint64_t Wait() {
    std::uniform_int_distribution<int64_t> jitter(0, entry_.jitter_ms);
    return static_cast<uint64_t>(entry_.every_ms + jitter(random_)) * kNsPerMs;
  }

  const ReportTriggerEntry entry_;
  std::mt19937_64 random_{std::random_device()()};
  uint64_t next_ns_ = 0;
};

// One that was there when the agent began is nothing new. A file that was replaced (a ConfigMap) is
// another one.
class FileTrigger : public ReportTrigger {
 public:
  explicit FileTrigger(ReportTriggerEntry entry) : entry_(std::move(entry)), seen_(Identity()) {}

  std::vector<TriggerFiring> Look(const TriggerMoment&) override {
    const std::string identity = Identity();
    const std::string before = std::exchange(seen_, identity);
    if (identity.empty() || identity == before) return {};
    return {TriggerFiring{.reason = fmt::format("the file {} is there", entry_.path)}};
  }

 private:
  std::string Identity() const {
    struct stat facts = {};
    if (stat(entry_.path.c_str(), &facts) != 0) return "";
    return fmt::format("{} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec);
  }

  const ReportTriggerEntry entry_;
  std::string seen_;
};

class BudgetTrigger : public ReportTrigger {
 public:
  std::vector<TriggerFiring> Look(const TriggerMoment& now) override {
    const bool was_short = std::exchange(is_short_, now.is_own_budget_short);
    if (!is_short_ || was_short) return {};
    return {TriggerFiring{.reason = "the agent has come to one of its own budgets"}};
  }

 private:
  bool is_short_ = false;
};

}  // namespace

MadeTrigger MakeTimerTrigger(const ReportTriggerEntry& entry, HostEvents&) {
  return std::make_unique<TimerTrigger>(entry);
}
MadeTrigger MakeFileTrigger(const ReportTriggerEntry& entry, HostEvents&) {
  return std::make_unique<FileTrigger>(entry);
}
MadeTrigger MakeBudgetTrigger(const ReportTriggerEntry&, HostEvents&) {
  return std::make_unique<BudgetTrigger>();
}

}  // namespace stackray
