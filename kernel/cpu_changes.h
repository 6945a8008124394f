// CPUs that went away or came back since one last asked, as the kernel's device events report them
// (netlink(7), NETLINK_KOBJECT_UEVENT). The list of online CPUs does not tell of one that went and
// came back in between, and a perf event of such a CPU never counts again (seen on 6.18).
// Threads: one at a time.
#ifndef STACKRAY_KERNEL_CPU_CHANGES_H_
#define STACKRAY_KERNEL_CPU_CHANGES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "kernel/unique_fd.h"

namespace stackray {

// "offline@/devices/system/cpu/cpu7", and more behind a NUL, → 7; nullopt: an event of something
// else.
std::optional<int> ChangedCpu(std::string_view event);

class CpuChanges {
 public:
  // Where the kernel refuses the socket, no change is ever seen.
  CpuChanges();

  struct Changes {
    std::vector<int> cpus;  // Ascending, each once.
    bool lost = false;      // Events did not fit: any CPU may have changed.
  };
  // Since the last call, or the construction. Never waits.
  Changes Take();

 private:
  UniqueFd socket_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CPU_CHANGES_H_
