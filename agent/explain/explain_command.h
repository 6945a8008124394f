// `stackray explain PID`: samples one process for a few seconds and says how its code is unwound
// and named.
#ifndef STACKRAY_AGENT_EXPLAIN_EXPLAIN_COMMAND_H_
#define STACKRAY_AGENT_EXPLAIN_EXPLAIN_COMMAND_H_

#include "agent/settings/settings.h"

namespace stackray {

// Prints to standard output. The exit code: 0, 1 (sampling is not possible), 2 (no such process).
int RunExplain(const ExplainSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_EXPLAIN_COMMAND_H_
