// A listening TCP socket: on the loopback interface, on the first free port of a range; or where a
// user says.
#ifndef STACKRAY_AGENT_WEB_SERVER_LOOPBACK_LISTENER_H_
#define STACKRAY_AGENT_WEB_SERVER_LOOPBACK_LISTENER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct LoopbackListener {
  UniqueFd socket;
  uint16_t port = 0;
};

// 127.x.y.z, ::1 or localhost.
bool IsLoopbackHost(const std::string& host);

// Busy ports are skipped; port 0 takes any. No SO_REUSEPORT: a second agent must see a busy port as
// busy. Errors: InvalidArgument (`host` is not of the loopback interface), Unavailable.
absl::StatusOr<LoopbackListener> ListenOnLoopback(const std::string& host, uint16_t first_port,
                                                  uint16_t ports_to_try);

// Any numeric address of this host, or localhost, and this very port; 0: any. Errors:
// InvalidArgument (`host` is no address), Unavailable.
absl::StatusOr<LoopbackListener> ListenOnAny(const std::string& host, uint16_t port);

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_LOOPBACK_LISTENER_H_
