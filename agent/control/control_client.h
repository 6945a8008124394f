// Asks the agent of this host, as `stackray agent --status` and `stackray capture` do.
#ifndef STACKRAY_AGENT_CONTROL_CONTROL_CLIENT_H_
#define STACKRAY_AGENT_CONTROL_CONTROL_CLIENT_H_

#include <chrono>
#include <string>
#include <string_view>

#include "agent/control/control_message.h"

namespace stackray {

inline constexpr std::chrono::seconds kAnswerLimit{5};

// One request to the agent whose state directory this is. Waits at most `limit` for each part of
// the answer. Errors: NotFound (no agent runs there), PermissionDenied, Unavailable (it does not
// answer), each with what to do; and what the agent answers.
ControlAnswer AskAgent(const std::string& state_dir, std::string_view request,
                       const nlohmann::json& arguments = nlohmann::json::object(),
                       std::chrono::seconds limit = kAnswerLimit);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CONTROL_CONTROL_CLIENT_H_
