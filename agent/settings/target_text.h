// Targets in words, for titles, messages and the log.
#ifndef STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_
#define STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_

#include <string>

#include "agent/settings/settings.h"

namespace stackray {

// "all processes of this host", "process 12 and its descendants", "user www-data", … Of a service
// it says that the name is the processes' own word.
std::string DescribeTarget(const TargetSettings& target);

// Is who meets it for the processes to say? A service, a command's name and a label are their own
// word, which another user's process may give as well.
bool IsClaimed(const TargetSettings& target);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_
