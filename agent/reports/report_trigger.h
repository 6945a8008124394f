// What makes a report without being asked. A trigger looks at the host once a second; adding one is
// a file in triggers/ and a row of the table in triggers/trigger_table.cc.
//
// Threads: one (the agent's loop). Look() takes a few hundred microseconds at most.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_TRIGGER_H_
#define STACKRAY_AGENT_REPORTS_REPORT_TRIGGER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/reports/host_events.h"
#include "agent/settings/settings.h"

namespace stackray {

struct TriggerMoment {
  uint64_t boot_ns = 0;
  bool is_own_budget_short = false;  // The agent does without something (agent/envelope/).
};

struct TriggerFiring {
  std::string reason;          // "memory pressure of the host was 43 % over 10 s".
  uint32_t pid = 0;            // The process that it is about; 0: none, or it is gone.
  TargetSettings target = {};  // Without a pid: of whom the heaviest processes are.
  // The thread that a signal has ended, and its process; 0: none.
  uint32_t ended_pid = 0, ended_tid = 0;
  bool is_over = false;  // It cannot be seen again later: a process has ended.
};

class ReportTrigger {
 public:
  virtual ~ReportTrigger() = default;
  // Once a second: all that has happened. What goes on does not fire again before it was over for a
  // moment.
  virtual std::vector<TriggerFiring> Look(const TriggerMoment& now) = 0;
};

// `events` outlives the trigger. Errors: NotFound, FailedPrecondition (this host has no such
// source), with what to do.
absl::StatusOr<std::unique_ptr<ReportTrigger>> MakeReportTrigger(const ReportTriggerEntry& entry,
                                                                 HostEvents& events);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_TRIGGER_H_
