// Targets in words, for titles, messages and the log.
#ifndef STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_
#define STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_

#include <string>

#include "agent/settings/settings.h"

namespace stackray {

// "all processes of this host", "process 12 and its descendants", "user www-data", …
std::string DescribeTarget(const TargetSettings& target);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_TARGET_TEXT_H_
