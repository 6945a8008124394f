// The agent's log, on standard error: text for people, or one JSON object a line.
//
// What repeats is limited by site and reason: five lines at once, then one a minute, and the number
// of those that were not shown is said later. The reason is the text itself unless a caller names
// one, as it does where the text holds something that changes.
// Threads: any, after InitLog().
#ifndef STACKRAY_AGENT_LOG_H_
#define STACKRAY_AGENT_LOG_H_

#include <cstdint>
#include <source_location>
#include <string_view>

#include "agent/settings/settings.h"

namespace stackray {

void InitLog(const LogSettings& settings);
// Another level and format while threads log.
void ChangeLog(const LogSettings& settings);

void LogInfo(std::string_view text, std::string_view reason = {},
             std::source_location site = std::source_location::current());
void LogWarning(std::string_view text, std::string_view reason = {},
                std::source_location site = std::source_location::current());
void LogError(std::string_view text, std::string_view reason = {},
              std::source_location site = std::source_location::current());

// Says what was held back a minute ago or earlier. Call it every few seconds.
void LogHeldBack();
// Says all of it, at the end.
void LogAllHeldBack();
uint64_t LogLinesHeldBack();  // Since InitLog().

}  // namespace stackray

#endif  // STACKRAY_AGENT_LOG_H_
