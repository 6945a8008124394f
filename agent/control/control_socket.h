// Where the agent's Unix socket is: DIRECTORY/control.sock, in a directory that is its owner's
// alone (0700).
#ifndef STACKRAY_AGENT_CONTROL_CONTROL_SOCKET_H_
#define STACKRAY_AGENT_CONTROL_CONTROL_SOCKET_H_

#include <sys/un.h>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// By the directory's descriptor: a socket's address has 107 bytes at most, a directory's path any.
sockaddr_un ControlAddress(int directory);

// A socket that listens there, in the place of an older one: whoever calls this holds the
// directory's lock. Errors: Unavailable.
absl::StatusOr<UniqueFd> ListenForControl(int directory);
// Errors: Unavailable, with errno as connect() left it.
absl::StatusOr<UniqueFd> ConnectToControl(int directory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CONTROL_CONTROL_SOCKET_H_
