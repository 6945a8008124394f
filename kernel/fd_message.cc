#include "kernel/fd_message.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stackray {
namespace {

constexpr size_t kMostFds = 4;
union Control {
  cmsghdr header;  // For its alignment.
  char bytes[CMSG_SPACE(kMostFds * sizeof(int))];
};

msghdr MakeHeader(iovec* part, Control* control) {
  msghdr header = {};
  header.msg_iov = part;
  header.msg_iovlen = 1;
  header.msg_control = control->bytes;
  header.msg_controllen = sizeof(control->bytes);
  return header;
}

std::vector<UniqueFd> TakeFds(msghdr* header) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

std::optional<SocketPair> MakeSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool SendBytes(int socket, std::span<const std::byte> bytes, std::initializer_list<int> fds) {
  iovec part = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  Control control = {};
  msghdr header = MakeHeader(&part, &control);
  const size_t count = std::min(fds.size(), kMostFds);
  header.msg_controllen = count == 0 ? 0 : CMSG_SPACE(count * sizeof(int));
  if (count != 0) {
    cmsghdr* const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(first), fds.begin(), count * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<std::vector<UniqueFd>> ReceiveBytes(int socket, std::span<std::byte> bytes) {
  iovec part = {bytes.data(), bytes.size()};
  Control control = {};
  msghdr header = MakeHeader(&part, &control);
  ssize_t got;
  do {
    got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::nullopt;
  std::vector<UniqueFd> fds = TakeFds(&header);
  const bool whole = got == static_cast<ssize_t>(bytes.size()) &&
                     (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!whole) return std::nullopt;
  return fds;
}

}  // namespace stackray
