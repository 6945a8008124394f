// What the agent says of its reports in `agent --status` and /metrics.
#ifndef STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_
#define STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace stackray {

// Log records about reports, to all receivers together.
struct LogDelivery {
  uint64_t delivered = 0, lost = 0, in_flight = 0;
  std::string failing_with;  // Empty: nothing fails.
};

struct ReportsStatus {
  uint64_t made = 0;
  uint64_t failed = 0;      // Begun and not completed: full disk, the agent's end.
  uint64_t suppressed = 0;  // Triggers that fired and made none: limits, another report.
  uint64_t stored = 0, stored_bytes = 0;
  std::vector<std::string> missed;  // Of these, the last 32: what happened and why there is none.
  std::string running;              // Its name; empty: none.
  std::string last, last_failure;
  uint64_t uploaded = 0, upload_failures = 0;  // Failures: attempts.
  std::string last_upload_failure;
  uint64_t collectors_run = 0, collectors_failed = 0;
  LogDelivery logs;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_
