// The environment of CMD where it runs as the user who called sudo.
#ifndef STACKRAY_AGENT_RECORD_CHILD_ENVIRONMENT_H_
#define STACKRAY_AGENT_RECORD_CHILD_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "agent/settings/settings.h"

namespace stackray {

struct Account {
  std::string name, home, shell;  // Empty: not known.
};

// From the user database; the name of sudo where that has none.
Account AccountOf(const SudoUser& user);

// As `su` hands an environment on: HOME, USER, LOGNAME and SHELL become the user's, or go where
// they are not known, and so do MAIL, sudo's own variables and stackray's settings, which are
// root's. All else stays, because nobody can tell what was meant for CMD.
// `environment`: ends with nullptr.
std::vector<std::string> EnvironmentFor(const Account& account, const char* const* environment);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_CHILD_ENVIRONMENT_H_
