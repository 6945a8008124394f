// The process that a collector asks, held by descriptors: its namespaces, its root directory, its
// user.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_TARGET_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_TARGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/privileges/collector_protocol.h"
#include "agent/privileges/process_user.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct CollectorTarget {
  ProcessUser user;
  UniqueFd root;
  std::vector<UniqueFd> namespaces;  // In the order in which they have to be entered.
  bool is_elsewhere = false;         // It has a mount namespace of its own.
  std::string cgroups;               // As /proc/PID/cgroup has them.
};

// All of it belongs to one process, which had this user and our user namespace from the first look
// to the last: a process cannot come back from a user namespace of its own, and without one nobody
// but root gives a process another root directory or mount namespace. So no process can have a
// command run as one user in a world that another user has made.
// nullopt: `reply` says why.
std::optional<CollectorTarget> OpenCollectorTarget(const CollectorEntry& collector, uint32_t pid,
                                                   CollectorReply& reply);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_TARGET_H_
