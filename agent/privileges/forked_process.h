// What the agent's forked processes have in common at their begin.
#ifndef STACKRAY_AGENT_PRIVILEGES_FORKED_PROCESS_H_
#define STACKRAY_AGENT_PRIVILEGES_FORKED_PROCESS_H_

#include <sys/types.h>

namespace stackray {

// In the child: it ends with `agent`, ignores what is meant for the agent, and holds nothing open
// but standard error and `socket`. It leaves no core dump. Its name is cut at 15 bytes.
void BecomeForked(pid_t agent, int socket, const char* name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_FORKED_PROCESS_H_
