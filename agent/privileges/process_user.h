// Whose files a process may use, from /proc/PID/status.
// Threads: a plain function.
#ifndef STACKRAY_AGENT_PRIVILEGES_PROCESS_USER_H_
#define STACKRAY_AGENT_PRIVILEGES_PROCESS_USER_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace stackray {

struct ProcessUser {
  uint32_t uid = 0, gid = 0;     // Those for files.
  std::vector<uint32_t> groups;  // The first `most_groups`.
  uint32_t inner_pid = 0;        // Its number in its own PID namespace; 0: the kernel does not say.
};

// nullopt: it is gone.
std::optional<ProcessUser> ReadProcessUser(uint32_t pid, size_t most_groups);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_PROCESS_USER_H_
