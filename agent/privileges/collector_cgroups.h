// A collector's command belongs into its target's cgroups: there is where a container's limits are,
// and where the kernel asks which devices may be opened. A container's root can make a node of any
// device; outside of the container's cgroup it could open it.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CGROUPS_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CGROUPS_H_

#include <string>

namespace stackray {

// `cgroups`: the target's /proc/PID/cgroup. Moves the calling process there. False: it could not be
// moved where devices are decided (cgroup v2, the controller `devices` of v1); errno says why. The
// other hierarchies are best effort.
bool JoinCgroups(const std::string& cgroups);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CGROUPS_H_
