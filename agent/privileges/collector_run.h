// One run of a collector, in a process of its own that watches over it.
//
// The command runs in the target's namespaces and below its root directory, in a container's
// cgroups, as its user, without capabilities and without ways to gain some (target_entry.c).
// Nothing of the host's files, and no descriptor but three pipes, can be reached through it. Its
// environment holds PATH and LANG alone. It is killed with its children at its deadline, and when
// they have or write too much. A container's root can kill who watches there; what then escapes is
// one more of the container's processes, in its cgroups and without capabilities.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_RUN_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_RUN_H_

#include <cstdint>

#include "agent/privileges/collector_protocol.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Call it in a process that has nothing else to do and ends after it. Returns what the command
// wrote to standard output and error; not valid: it was not started.
UniqueFd RunCollector(const CollectorEntry& collector, uint32_t pid, CollectorReply& reply);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_RUN_H_
