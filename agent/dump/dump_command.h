// `stackray dump PID`: the stacks of all threads of a process, once.
#ifndef STACKRAY_AGENT_DUMP_DUMP_COMMAND_H_
#define STACKRAY_AGENT_DUMP_DUMP_COMMAND_H_

#include "agent/settings/settings.h"

namespace stackray {

// Exit code 0: every thread has a stack; 1: not every one, or none; 2: there is no such process.
int RunDump(const DumpSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DUMP_DUMP_COMMAND_H_
