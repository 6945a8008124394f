// Log records about reports, on their way to the receivers of profiles: each has a queue, a thread
// and a spool of its own for them. Off unless the settings ask for it (`reports: send: true`).
// Threads: the agent's loop.
#ifndef STACKRAY_AGENT_DAEMON_REPORT_LOGS_H_
#define STACKRAY_AGENT_DAEMON_REPORT_LOGS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/daemon/receiver.h"
#include "agent/daemon/receiver_plan.h"
#include "agent/reports/reports_status.h"
#include "agent/settings/settings.h"
#include "reporter/batch.h"
#include "reporter/logs/log_record.h"

namespace stackray {

// The receivers of profiles, for logs: their addresses with another path. Empty: none are wanted.
// Errors: as PlanReceivers().
absl::StatusOr<std::vector<ReceiverPlan>> PlanReportLogs(const AgentSettings& settings);

class ReportLogs {
 public:
  // At the start and at each reload; what waits goes to the new receiver of the same name. `host`:
  // of the resource.
  void Apply(std::vector<ReceiverPlan> plans, const BatchSettings& host);
  void Add(const LogRecord& record);
  // Waits for what is left, at most `limit` and 3 s; the spool has the rest.
  void Finish(std::chrono::milliseconds limit);

  // Of all receivers together.
  LogDelivery Counts() const;

 private:
  std::unique_ptr<Receiver> TakeFor(const ReceiverPlan& plan);

  std::string resource_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_REPORT_LOGS_H_
