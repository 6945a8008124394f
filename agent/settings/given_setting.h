// A setting as somebody gave it: not yet read as a value, but with the place to name in an error.
#ifndef STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_
#define STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_

#include <map>
#include <string>
#include <vector>

#include "agent/settings/setting_table.h"

namespace stackray {

// In the order of strength: the last one that says something wins.
enum class SettingSource { kDefault, kFile, kVariable, kCommandLine };

struct GivenSetting {
  const SettingRow* row = nullptr;  // Of SettingTable(); never nullptr.
  SettingSource source = SettingSource::kDefault;
  std::string origin;              // "--frequency", "STACKRAY_FREQUENCY", "stackray.yaml:3".
  std::vector<std::string> texts;  // At least one; exactly one unless the row is a list.
};

using Environment = std::map<std::string, std::string>;

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_GIVEN_SETTING_H_
