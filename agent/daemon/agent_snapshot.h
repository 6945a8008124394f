// The agent's numbers of one moment, as /metrics and the status show them.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_
#define STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/history/history.h"
#include "agent/sampling/sampling_session.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {

// In the metrics of one snapshot, for each receiver, exactly: produced = delivered + lost + in flight.
// Markers of lost samples count nowhere there: they travel, but nobody produced them.
struct AgentSnapshot {
  SessionCounts session;
  std::vector<Sampler::ProgramCost> programs;
  std::optional<HistoryStatistics> history;
  std::optional<DeliveryCounts> delivery;  // Of the OTLP receiver.
  uint64_t resident_bytes = 0, anonymous_bytes = 0;
};

// VmRSS and RssAnon of this process, from /proc/self/status.
void ReadOwnMemory(AgentSnapshot* snapshot);

// Prometheus text format; names as design.md §10 has them.
std::string MetricsText(const AgentSnapshot& snapshot);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_
