// The helper process: what must act as another user, or with a right that the agent gave up. It is
// forked before the agent has threads and before the agent gives up its privileges, so it has no
// filter; it keeps the rights to change its user and priorities, and no others.
//
// Every file is copied in a child of its own: four a user and 16 in all, others are refused
// meanwhile. A child that hangs, or that its user has stopped, is killed after 10 s. It ends with
// the agent: with the socket, and by a signal.
#ifndef STACKRAY_AGENT_PRIVILEGES_HELPER_PROCESS_H_
#define STACKRAY_AGENT_PRIVILEGES_HELPER_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct HelperProcess {
  pid_t pid = -1;
  UniqueFd socket;  // For requests. Closing it ends the helper.
};

// `copy_directory`: where copies of files lie, without a name. Must be called before there are
// other threads. Errors: ResourceExhausted (no socket, no process).
absl::StatusOr<HelperProcess> ForkHelper(const std::string& copy_directory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_HELPER_PROCESS_H_
