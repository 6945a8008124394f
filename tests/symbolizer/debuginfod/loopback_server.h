// An HTTP server on the loopback interface that answers as a test says: rightly, wrongly, slowly,
// or never.
#ifndef STACKRAY_TESTS_SYMBOLIZER_DEBUGINFOD_LOOPBACK_SERVER_H_
#define STACKRAY_TESTS_SYMBOLIZER_DEBUGINFOD_LOOPBACK_SERVER_H_

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernel/unique_fd.h"

namespace stackray::test {

class LoopbackServer {
 public:
  // What to send to one request for `path`; `send` returns false when the client is gone or the
  // server ends.
  using Send = std::function<bool(const std::string& bytes)>;
  using Handler = std::function<void(const std::string& path, const Send& send)>;

  explicit LoopbackServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        listen(listener_.get(), 16) == 0 &&
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0)
      port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~LoopbackServer() {
    stop_ = true;
    thread_.join();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::vector<std::string> paths() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return paths_;
  }

  // The head of an answer.
  static std::string Head(const std::string& status, const std::string& fields = "") {
    return fmt::format("HTTP/1.1 {}\r\nConnection: close\r\n{}\r\n", status, fields);
  }

 private:
  static constexpr int kTurnMs = 20;

  bool IsReady(int fd, short events) const {
    while (!stop_) {
      pollfd one = {fd, events, 0};
      if (poll(&one, 1, kTurnMs) > 0) return true;
    }
    return false;
  }
  void Run() {
    while (IsReady(listener_.get(), POLLIN)) {
      const UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid()) Serve(client.get());
    }
  }
  void Serve(int client) {
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
      char part[1024];
      if (!IsReady(client, POLLIN)) return;
      const ssize_t n = recv(client, part, sizeof(part), 0);
      if (n <= 0) return;
      request.append(part, static_cast<size_t>(n));
    }
    const size_t begin = request.find(' ') + 1;
    const std::string path = request.substr(begin, request.find(' ', begin) - begin);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      paths_.push_back(path);
    }
    handler_(path, [&](const std::string& bytes) {
      for (size_t sent = 0; sent < bytes.size();) {
        if (!IsReady(client, POLLOUT)) return false;
        const ssize_t n =
            send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) return false;
        sent += static_cast<size_t>(n);
      }
      // The client has left when it can be read from, because it has nothing more to say.
      pollfd one = {client, POLLIN, 0};
      return !stop_ && poll(&one, 1, 0) == 0;
    });
  }

  const Handler handler_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;
  std::thread thread_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_DEBUGINFOD_LOOPBACK_SERVER_H_
