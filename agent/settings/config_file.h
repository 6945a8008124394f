// The YAML configuration: one flat mapping from the setting table's keys to scalars (lists: also
// sequences of scalars). Keys of any verb may stand in it, so that one file serves all verbs.
// Input: written by the operator, yet bounded (1 MiB) and refused rather than guessed at.
#ifndef STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_
#define STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/given_setting.h"

namespace stackray {

// Settings in the file's order. `name` is the file's name for messages.
// Errors: InvalidArgument naming NAME:LINE — not YAML, more than one document, no mapping, an
// unknown key (with the nearest right one), a key given twice, a nested, missing or empty value.
absl::StatusOr<std::vector<GivenSetting>> ParseConfigText(std::string_view text,
                                                          const std::string& name);

// Errors: NotFound or InvalidArgument (cannot be read, larger than 1 MiB), else as above.
absl::StatusOr<std::vector<GivenSetting>> ReadConfigFile(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_
