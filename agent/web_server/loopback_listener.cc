#include "agent/web_server/loopback_listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace stackray {
namespace {

constexpr int kBacklog = 1024;  // A crowd must not make others repeat their first packet.

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

std::optional<Address> ParseLoopback(const std::string& host, uint16_t port) {
  Address address{};
  if (host == "::1") {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_addr = in6addr_loopback;
    address.v6.sin6_port = htons(port);
    return address;
  }
  address.v4.sin_family = AF_INET;
  address.v4.sin_port = htons(port);
  const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
  if (inet_pton(AF_INET, numeric.c_str(), &address.v4.sin_addr) != 1) return std::nullopt;
  if (ntohl(address.v4.sin_addr.s_addr) >> 24 != 127) return std::nullopt;
  return address;
}

std::optional<Address> ParseAny(const std::string& host, uint16_t port) {
  if (std::optional<Address> loopback = ParseLoopback(host, port)) return loopback;
  Address address{};
  address.v4.sin_family = AF_INET;
  address.v4.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.v4.sin_addr) == 1) return address;
  address = {};
  address.v6.sin6_family = AF_INET6;
  address.v6.sin6_port = htons(port);
  if (inet_pton(AF_INET6, host.c_str(), &address.v6.sin6_addr) == 1) return address;
  return std::nullopt;
}

socklen_t SizeOf(const Address& address) {
  return address.any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// A listening socket, or an invalid one with errno set.
UniqueFd Listen(const Address& address) {
  UniqueFd socket_fd(socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int one = 1;  // Lets a restarted agent have its port back while old connections linger.
  if (socket_fd.valid() &&
      setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
      bind(socket_fd.get(), &address.any, SizeOf(address)) == 0 &&
      listen(socket_fd.get(), kBacklog) == 0)
    return socket_fd;
  const int error = errno;
  socket_fd.reset();
  errno = error;
  return {};
}

uint16_t PortOf(int socket_fd) {
  Address address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket_fd, &address.any, &size) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

}  // namespace

bool IsLoopbackHost(const std::string& host) { return ParseLoopback(host, 0).has_value(); }

absl::StatusOr<LoopbackListener> ListenOnLoopback(const std::string& host, uint16_t first_port,
                                                  uint16_t ports_to_try) {
  const uint32_t last_port =
      std::min<uint32_t>(first_port + std::max<uint32_t>(ports_to_try, 1) - 1, 65535);
  int error = 0;
  for (uint32_t port = first_port; port <= last_port; ++port) {
    const std::optional<Address> address = ParseLoopback(host, static_cast<uint16_t>(port));
    if (!address)
      return absl::InvalidArgumentError(
          fmt::format("{} is no address of the loopback interface", host));
    UniqueFd socket_fd = Listen(*address);
    if (socket_fd.valid()) {
      const uint16_t bound = PortOf(socket_fd.get());
      return LoopbackListener{std::move(socket_fd), bound};
    }
    error = errno;
    if (error != EADDRINUSE && error != EACCES) break;
    if (first_port == 0) break;
  }
  return absl::UnavailableError(fmt::format("cannot listen on {}, ports {} to {}: {}", host,
                                            first_port, last_port, std::strerror(error)));
}

absl::StatusOr<LoopbackListener> ListenOnAny(const std::string& host, uint16_t port) {
  const std::optional<Address> address = ParseAny(host, port);
  if (!address) return absl::InvalidArgumentError(fmt::format("{} is no numeric address", host));
  UniqueFd socket_fd = Listen(*address);
  if (!socket_fd.valid())
    return absl::UnavailableError(
        fmt::format("cannot listen on {}, port {}: {}", host, port, std::strerror(errno)));
  const uint16_t bound = PortOf(socket_fd.get());
  return LoopbackListener{std::move(socket_fd), bound};
}

}  // namespace stackray
