// A snapshot in the Prometheus text format; docs/operations.md says of each metric what it means
// and what to do.
#ifndef STACKRAY_AGENT_DAEMON_METRICS_TEXT_H_
#define STACKRAY_AGENT_DAEMON_METRICS_TEXT_H_

#include <string>

#include "agent/daemon/agent_snapshot.h"

namespace stackray {

std::string MetricsText(const AgentSnapshot& snapshot);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_METRICS_TEXT_H_
