// A setting as somebody gave it: not yet read as a value, but with the place to name in an error.
#ifndef STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_
#define STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/settings/setting_table.h"

namespace stackray {

// In the order of strength: the last one that says something wins.
enum class SettingSource { kDefault, kFile, kOtelVariable, kVariable, kCommandLine };

struct GivenSetting {
  const SettingRow* row = nullptr;  // Of SettingTable(); never nullptr.
  SettingSource source = SettingSource::kDefault;
  std::string origin;              // "--frequency", "STACKRAY_FREQUENCY", "stackray.yaml:3".
  std::vector<std::string> texts;  // At least one; exactly one unless the row is a list.
};

using Environment = std::map<std::string, std::string>;

// An empty variable is an unset one: nullptr.
const std::string* FindVariable(const Environment& environment, const std::string& name);

// What was given, as it may stand in a message or a status: without secrets.
std::string ShownValue(const GivenSetting& given);

// InvalidArgument: what was given where, and what is expected instead.
absl::Status BadValue(const GivenSetting& given);

// Where an error or the status says that it comes from: "stackray.yaml:3: endpoint", "--endpoint".
std::string PlaceOf(const GivenSetting& given);

// Stores the value. A receiver's setting from an OTEL variable is stored as it stands: the exporter
// knows that syntax. Errors: as BadValue().
absl::Status Apply(const GivenSetting& given, SettingValues& values);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_
