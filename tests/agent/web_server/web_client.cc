#include "tests/agent/web_server/web_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "reporter/formats/gzip.h"

namespace stackray {

absl::StatusOr<std::string> FakeSource::ViewGzip(std::string_view query, std::stop_token stop) {
  absl::StatusOr<std::string> plain = "{\"query\":\"" + std::string(query) + "\"}";
  if (view) plain = view(query, stop);
  return plain.ok() ? GzipCompress(*plain, 1) : plain;
}

absl::StatusOr<std::string> FakeSource::ProfileGzip(int64_t from_ms, int64_t to_ms,
                                                    std::stop_token stop) {
  ++profiles;
  const int now = ++at_once;
  for (int most = most_at_once; now > most && !most_at_once.compare_exchange_weak(most, now);) {
  }
  struct Leave {
    std::atomic<int>& count;
    ~Leave() { --count; }
  } leave{at_once};
  if (!compressed.empty()) return compressed;
  absl::StatusOr<std::string> plain =
      "{\"from\":" + std::to_string(from_ms) + ",\"to\":" + std::to_string(to_ms) + "}";
  if (profile) plain = profile(from_ms, to_ms, stop);
  return plain.ok() ? GzipCompress(*plain, 1) : plain;
}

std::unique_ptr<WebServer> StartAnywhere(PageDataSource& source, std::string_view page,
                                         const std::string& token) {
  WebServerSettings settings;
  settings.page_token = token;
  settings.port = 0;
  settings.now_ms = [] { return int64_t{1'790'000'000'500}; };
  auto server = WebServer::Start(settings, page, source);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

UniqueFd ConnectTo(uint16_t port) {
  UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    socket_fd.reset();
  return socket_fd;
}

void SendAll(int socket_fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string ReceiveAll(int socket_fd, int wait_ms) {
  std::string all;
  char buffer[65536];
  pollfd ready{socket_fd, POLLIN, 0};
  while (poll(&ready, 1, wait_ms) > 0) {
    const ssize_t got = recv(socket_fd, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

std::string Exchange(uint16_t port, std::string_view bytes) {
  const UniqueFd socket_fd = ConnectTo(port);
  SendAll(socket_fd.get(), bytes);
  return ReceiveAll(socket_fd.get());
}

std::string GetRaw(uint16_t port, std::string_view path, std::string_view headers) {
  return Exchange(port, "GET " + std::string(path) +
                            " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n" +
                            std::string(headers) + "Connection: close\r\n\r\n");
}

}  // namespace stackray
