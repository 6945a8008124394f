// What the agent says of its reports in `agent --status` and /metrics.
#ifndef STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_
#define STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_

#include <cstdint>
#include <string>

namespace stackray {

struct ReportsStatus {
  uint64_t made = 0;
  uint64_t failed = 0;      // Begun and not completed: full disk, the agent's end.
  uint64_t suppressed = 0;  // Triggers that fired and made none: limits, another report.
  uint64_t stored = 0, stored_bytes = 0;
  std::string running;  // Its name; empty: none.
  std::string last, last_failure;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORTS_STATUS_H_
