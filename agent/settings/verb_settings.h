// The last step of ParseCommandLine(): values of all kinds become the one verb's struct.
#ifndef STACKRAY_AGENT_SETTINGS_VERB_SETTINGS_H_
#define STACKRAY_AGENT_SETTINGS_VERB_SETTINGS_H_

#include "absl/status/status.h"
#include "agent/settings/command_line.h"
#include "agent/settings/flag_parser.h"
#include "agent/settings/setting_table.h"

namespace stackray {

// Sets line.verb, with the defaults that depend on the verb, the receiver and the environment.
// Errors: InvalidArgument: files or a command where the verb takes none, or too few; flags that do
// not go together.
absl::Status BuildVerb(Verb verb, SettingValues values, const ParsedFlags& flags,
                       const Environment& environment, CommandLine& line);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_VERB_SETTINGS_H_
