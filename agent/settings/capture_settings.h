// The verb capture's settings.
#ifndef STACKRAY_AGENT_SETTINGS_CAPTURE_SETTINGS_H_
#define STACKRAY_AGENT_SETTINGS_CAPTURE_SETTINGS_H_

#include "absl/status/status.h"
#include "agent/settings/command_line.h"
#include "agent/settings/flag_parser.h"
#include "agent/settings/setting_table.h"

namespace stackray {

// Sets line.verb. Errors: InvalidArgument: no target, a name that is none, what does not go
// together.
absl::Status BuildCapture(const SettingValues& values, const ParsedFlags& flags,
                          const Environment& environment, CommandLine& line);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_CAPTURE_SETTINGS_H_
