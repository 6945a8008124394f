// How the agent stands to its budgets, for the snapshot.
#ifndef STACKRAY_AGENT_DAEMON_ENVELOPE_STATUS_H_
#define STACKRAY_AGENT_DAEMON_ENVELOPE_STATUS_H_

#include <cstdint>

#include "agent/envelope/envelope.h"
#include "agent/sampling/sampling_session.h"

namespace stackray {

struct EnvelopeStatus {
  EnvelopeBudgets budgets;
  double cpus = 0;  // Used over the window; the page's answers are left out.
  StepLevels levels{}, most{};
  bool exhausted = false;
  SessionLimits limits;   // What the session has now.
  uint64_t given_up = 0;  // How often something was given up since the start.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_ENVELOPE_STATUS_H_
