// The verbs that only read and write files: check, convert.
#ifndef STACKRAY_AGENT_FILE_COMMANDS_H_
#define STACKRAY_AGENT_FILE_COMMANDS_H_

#include "agent/settings/settings.h"

namespace stackray {

// Every batch against every rule of the wire; exit code 0: all obey, 1: not, or unreadable.
int RunCheck(const CheckSettings& settings);

// A run of batches into one other format; exit code 0 or 1.
int RunConvert(const ConvertSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_FILE_COMMANDS_H_
