// The triggers' makers, by kind; trigger_table.cc lists them.
#ifndef STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_
#define STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_

#include <memory>

#include "agent/reports/report_trigger.h"

namespace stackray {

using MadeTrigger = absl::StatusOr<std::unique_ptr<ReportTrigger>>;

MadeTrigger MakePressureTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeMemoryEventsTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeOomTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeTimerTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeFileTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeSignalTrigger(const ReportTriggerEntry& entry, HostEvents& events);
MadeTrigger MakeBudgetTrigger(const ReportTriggerEntry& entry, HostEvents& events);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_TRIGGERS_TRIGGERS_H_
