// Cuts one verb's command line into settings, files and the program to run. Values stay text.
#ifndef STACKRAY_AGENT_SETTINGS_FLAG_PARSER_H_
#define STACKRAY_AGENT_SETTINGS_FLAG_PARSER_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/given_setting.h"

namespace stackray {

struct ParsedFlags {
  // One a flag; of scalars given twice the last holds, of capture's targets all.
  std::vector<GivenSetting> settings;
  std::vector<std::string> files;    // What is no flag.
  std::vector<std::string> program;  // After "--".
  std::optional<std::string> config_path;
  bool help = false;
  bool check_config = false;
  bool status = false;
};

// `arguments` follow the verb. Accepts --key VALUE, --key=VALUE, -kVALUE, -k VALUE, --[no-]switch.
// Errors: InvalidArgument: an unknown flag (with the nearest right one, or the verb that has it), a
// flag without its value, "--" without a command. With --help errors do not matter: only `help` is
// set.
absl::StatusOr<ParsedFlags> ParseFlags(Verb verb, std::span<const std::string> arguments);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_FLAG_PARSER_H_
