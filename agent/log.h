// The agent's log, on standard error: text for people, or one JSON object a line.
// Threads: any, after InitLog().
#ifndef STACKRAY_AGENT_LOG_H_
#define STACKRAY_AGENT_LOG_H_

#include <string_view>

#include "agent/settings/settings.h"

namespace stackray {

void InitLog(const LogSettings& settings);

void LogInfo(std::string_view text);
void LogWarning(std::string_view text);
void LogError(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_AGENT_LOG_H_
