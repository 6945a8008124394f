// What /proc says about a process, for its batch's resource.
#ifndef STACKRAY_KERNEL_PROCESS_INFO_H_
#define STACKRAY_KERNEL_PROCESS_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/process.h"

namespace stackray {

// Fills what can be had; a process that is gone, or was replaced under the same pid, leaves only what
// the sample itself said (command, start time). `wall_offset_ns`: kernel/wall_clock.h.
ProcessInfo ReadProcessInfo(const ProcessId& id, std::string_view command, int64_t wall_offset_ns);

// Path of the cgroup out of /proc/PID/cgroup's text: the unified hierarchy's, or the longest of v1's.
std::string CgroupPath(std::string_view proc_cgroup);

// 64 hex digits out of a cgroup path as Docker, containerd, CRI-O and podman write it; empty: none.
std::string ContainerId(std::string_view cgroup_path);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_INFO_H_
