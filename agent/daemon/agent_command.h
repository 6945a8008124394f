// `stackray agent`: sample until told to stop, to a receiver, to the local history and its page, or
// both.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_COMMAND_H_
#define STACKRAY_AGENT_DAEMON_AGENT_COMMAND_H_

#include <functional>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

// `reload` reads the settings again, for SIGHUP; settings that are wrong then are logged and the
// old ones kept. Returns the exit code.
int RunAgent(const AgentSettings& settings,
             const std::function<absl::StatusOr<AgentSettings>()>& reload);

// `stackray agent --status`: prints what the running agent says of itself. Returns the exit code: 1
// where there is none.
int RunAgentStatus(const AgentSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_COMMAND_H_
