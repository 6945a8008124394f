// What the path of a cgroup says about who runs in it: container, pod, systemd's unit.
//
// Input:   a path that whoever made the cgroup has chosen; any bytes. As a rule that is root, but
//          below a user's own manager (user@1000.service) and inside a container it is whoever owns
//          that. A unit with Delegate= and another user is not told apart.
// Threads: plain functions and values.
// Facts:   the names that container runtimes and systemd 257 give their cgroups, cgroupfs and
//          systemd drivers, v1 and v2 alike; docs/lifetimes.md lists them.
#ifndef STACKRAY_KERNEL_CGROUP_PATH_H_
#define STACKRAY_KERNEL_CGROUP_PATH_H_

#include <string>
#include <string_view>

namespace stackray {

struct CgroupFacts {
  std::string path;            // From the root of its hierarchy; "/" is the root.
  std::string container_id;    // 64 hex digits: Docker, containerd, CRI-O, podman, nerdctl, ECS.
  std::string container_name;  // Of containers without such an id: systemd-nspawn, LXC.
  std::string pod_uid;         // Kubernetes: as the API writes it, with dashes.
  std::string service;  // systemd's unit inside the innermost container, ".service" taken off.
  // Chosen by a user's manager or inside a container.
  bool is_container_claimed = false, is_pod_claimed = false, is_service_claimed = false;
};

// Of the innermost container. A monitor process beside a container (conmon) is in none.
CgroupFacts ReadCgroupPath(std::string_view path);

// One process has a cgroup in v2 and one in each hierarchy of v1. Of the two, the one that names a
// container; else v2's, unless that is the root. Either may be empty.
CgroupFacts ChooseCgroup(std::string_view v2, std::string_view v1);

// ReadCgroupPath() for /proc/PID/cgroup's text; of v1's paths the deepest counts.
CgroupFacts ReadProcCgroup(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CGROUP_PATH_H_
