// The document of `stackray agent --status`; docs/operations.md has its fields.
#ifndef STACKRAY_AGENT_DAEMON_STATUS_JSON_H_
#define STACKRAY_AGENT_DAEMON_STATUS_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "agent/daemon/agent_snapshot.h"

namespace stackray {

nlohmann::ordered_json StatusJson(const AgentSnapshot& snapshot);
// Several lines, ended by a line break; valid UTF-8 whatever bytes names hold.
std::string StatusText(const nlohmann::ordered_json& status);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_STATUS_JSON_H_
