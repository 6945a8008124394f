// `stackray record`: sample for a while, write files, say what came of it.
#ifndef STACKRAY_AGENT_RECORD_RECORD_COMMAND_H_
#define STACKRAY_AGENT_RECORD_RECORD_COMMAND_H_

#include "agent/settings/settings.h"

namespace stackray {

// Returns the exit code: CMD's own, 0, or 1 and 2 (failed, wrong use), 126 and 127 where CMD cannot
// be started. Progress, errors and the paths of the results go to standard error; standard output
// is for `-o -`.
int RunRecord(const RecordSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_RECORD_COMMAND_H_
