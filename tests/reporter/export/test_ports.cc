#include "tests/reporter/export/test_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace stackray {
namespace {

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

// A socket on that port, or on one that the kernel chose, and the port.
std::pair<int, uint16_t> BindPort(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof(address);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) != 0 ||
      bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    Die("no port on 127.0.0.1");
  return {fd, ntohs(address.sin_port)};
}

}  // namespace

ReservedPort::ReservedPort() { std::tie(fd_, port_) = BindPort(0); }

ReservedPort::~ReservedPort() { close(fd_); }

ClosingListener::ClosingListener(uint16_t port, Manner manner) {
  std::tie(fd_, port_) = BindPort(port);
  if (listen(fd_, 16) != 0) Die("listen");
  thread_ = std::thread([this, manner] {
    for (int client; (client = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      ++accepted_;
      if (manner == Manner::kNeverAnswers)
        kept_.push_back(client);
      else
        close(client);
    }
  });
}

ClosingListener::~ClosingListener() {
  shutdown(fd_, SHUT_RDWR);
  thread_.join();
  for (const int client : kept_) close(client);
  close(fd_);
}

}  // namespace stackray
