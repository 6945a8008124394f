// What the program tells its user on standard error beside the agent's log: errors, warnings,
// summaries. Text for people, or with --log-format json one JSON object a line, of the log's shape.
//
// Input:   names in the text may come from hostile processes and files; control characters are
// replaced. Threads: any, after ChooseSayFormat().
#ifndef STACKRAY_AGENT_SAY_H_
#define STACKRAY_AGENT_SAY_H_

#include <string_view>

#include "agent/settings/settings.h"

namespace stackray {

void ChooseSayFormat(LogFormat format);
bool SaysJson();

void SayError(std::string_view text);    // "stackray: TEXT"
void SayWarning(std::string_view text);  // "stackray: warning: TEXT"
void Say(std::string_view text);         // Each line as it is.

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAY_H_
