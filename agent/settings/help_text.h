// The texts of --help, made from the setting table: what is not built is not in them.
#ifndef STACKRAY_AGENT_SETTINGS_HELP_TEXT_H_
#define STACKRAY_AGENT_SETTINGS_HELP_TEXT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/settings/setting_table.h"

namespace stackray {

struct VerbName {
  std::string_view name;
  Verb verb;
  std::string_view arguments;  // "FILE", "IN OUT", …; empty for none.
  std::string_view summary;
};

std::span<const VerbName> VerbNames();
std::optional<Verb> FindVerb(std::string_view name);
std::string_view NameOf(Verb verb);

std::string GeneralHelp();
std::string VerbHelp(Verb verb);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_HELP_TEXT_H_
