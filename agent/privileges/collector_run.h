// One run of a collector, in a process of its own that watches over it.
//
// The command runs in the target's mount and PID namespaces and below its root directory, as its
// user, without capabilities and without ways to gain some. Its environment holds PATH and LANG
// alone. It is killed with its children at its deadline, and when they have or write too much.
// A process that leaves its parents in a PID namespace of its own is found by the cgroup that it
// has from us; where the target is in that cgroup too, such a process is not found.
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
