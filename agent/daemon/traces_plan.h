// What the settings say about the agent's own traces, checked and complete: what a reload compares.
#ifndef STACKRAY_AGENT_DAEMON_TRACES_PLAN_H_
#define STACKRAY_AGENT_DAEMON_TRACES_PLAN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "agent/daemon/receiver_plan.h"
#include "agent/settings/settings.h"
#include "reporter/traces/trace_sampler.h"

namespace stackray {

struct TracesPlan {
  TraceSampler sampler;
  ReceiverPlan receiver;
  ResourceAttributes resource_attributes;  // Of the settings.

  friend bool operator==(const TracesPlan&, const TracesPlan&) = default;
};

// Nothing: no traces are asked for. Opens nothing but certificate files. Errors: as
// PlanReceivers().
absl::StatusOr<std::optional<TracesPlan>> PlanTraces(const AgentSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_TRACES_PLAN_H_
