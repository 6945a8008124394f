// Who calls, and from where, as the environment says it.
#ifndef STACKRAY_AGENT_SETTINGS_CALLER_H_
#define STACKRAY_AGENT_SETTINGS_CALLER_H_

#include <optional>
#include <string>

#include "agent/settings/given_setting.h"
#include "agent/settings/settings.h"

namespace stackray {

// Empty: not set.
std::string VariableOf(const Environment& environment, const std::string& name);

// sudo's own variables; absent unless all is well formed.
std::optional<SudoUser> FindSudoUser(const Environment& environment);

// The one that systemd gives, else /var/lib/stackray.
std::string DefaultStateDirectory(const Environment& environment);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_CALLER_H_
