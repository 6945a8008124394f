// The triggers' makers, by kind; trigger_table.cc lists them.
#ifndef STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_
#define STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_

#include <memory>

#include "agent/reports/report_trigger.h"

namespace stackray {

using MadeTrigger = absl::StatusOr<std::unique_ptr<ReportTrigger>>;

// Whose heaviest processes a trigger's report has: a cgroup's, or the host's where it has none.
inline TargetSettings TargetOfCgroup(const std::string& cgroup) {
  if (cgroup.empty()) return {};
  return {.kind = TargetKind::kCgroup, .cgroup_path = cgroup};
}

MadeTrigger MakePressureTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeMemoryEventsTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeOomTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeTimerTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeFileTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeSignalTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeBudgetTrigger(const ReportTriggerEntry& entry, HostEvents& events);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_
