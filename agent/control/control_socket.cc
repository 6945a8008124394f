#include "agent/control/control_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace stackray {
namespace {

constexpr char kSocketName[] = "control.sock";
constexpr int kBacklog = 64;

absl::Status Failed(std::string_view what) {
  return absl::UnavailableError(fmt::format("{}: {}", what, std::strerror(errno)));
}

const sockaddr* Any(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

sockaddr_un ControlAddress(int directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  *fmt::format_to_n(address.sun_path, sizeof(address.sun_path) - 1, "/proc/self/fd/{}/{}",
                    directory, kSocketName)
       .out = '\0';
  return address;
}

absl::StatusOr<UniqueFd> ListenForControl(int directory) {
  UniqueFd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening.valid()) return Failed("no control socket");
  if (unlinkat(directory, kSocketName, 0) != 0 && errno != ENOENT)
    return Failed("cannot replace the control socket");
  const sockaddr_un address = ControlAddress(directory);
  if (bind(listening.get(), Any(address), sizeof(address)) != 0 ||
      listen(listening.get(), kBacklog) != 0)
    return Failed("cannot make the control socket");
  return listening;
}

absl::StatusOr<UniqueFd> ConnectToControl(int directory) {
  UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = ControlAddress(directory);
  if (!server.valid() || connect(server.get(), Any(address), sizeof(address)) != 0)
    return Failed("cannot connect");
  return server;
}

}  // namespace stackray
