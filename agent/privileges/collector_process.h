// The process that runs collectors: commands of the configuration that only the program itself can
// answer, such as `jcmd PID GC.heap_info`. It is forked before the agent gives up its privileges,
// and only where there are collectors. It keeps the rights to enter namespaces and to change its
// user; what it runs has none of them.
//
// Each run has a child of its own (collector_run.h), one at a time. It ends with the agent: with
// the socket, and by a signal.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROCESS_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROCESS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "agent/privileges/helper_process.h"
#include "agent/settings/settings.h"

namespace stackray {

// Must be called before there are other threads. Errors: ResourceExhausted (no socket, no process).
absl::StatusOr<HelperProcess> ForkCollectors(const std::vector<CollectorEntry>& collectors);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_PROCESS_H_
