// Requests no browser on this host would make for this page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "agent/web_server/web_server.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Abuse : public testing::Test {
 protected:
  FakeSource source_;
  const std::unique_ptr<WebServer> server_ = StartAnywhere(source_, "page");
  const uint16_t port_ = server_->port();
  const std::string host_ = "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";

  std::string WithHost(const std::string& host_lines) {
    return Exchange(port_,
                    "GET /api/status HTTP/1.1\r\n" + host_lines + "Connection: close\r\n\r\n");
  }
  bool StillServes() { return GetRaw(port_, "/healthz").starts_with("HTTP/1.1 200"); }
};

TEST_F(Abuse, OnlyLocalHostsMayBeNamed) {
  for (const char* host : {"127.0.0.1:7171", "localhost:1", "[::1]:65535", "127.0.0.9:80"})
    EXPECT_THAT(WithHost(std::string("Host: ") + host + "\r\n"), StartsWith("HTTP/1.1 200"))
        << host;
  for (const char* host :
       {"evil.example:7171", "127.0.0.1", "localhost", "[::1]", "127.0.0.1.evil.example:7171",
        "evil.example", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:7171x",
        "0.0.0.0:7171", "10.0.0.1:7171", "[::]:7171", "LOCALHOST.:7171", "", "evil@127.0.0.1:7171",
        "localhost:7171:7171"}) {
    const std::string answer = WithHost(std::string("Host: ") + host + "\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403")) << host;
    EXPECT_THAT(answer, Not(HasSubstr("version")));
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff"));
  }
  EXPECT_THAT(WithHost(""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(WithHost(host_ + "Host: evil.example:80\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Abuse, OnlyGetAndHead) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    const std::string answer =
        Exchange(port_, std::string(method) + " /api/status HTTP/1.1\r\n" + host_ + "\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD"));
  }
}

// What follows as a body must not be taken for a second request.
TEST_F(Abuse, BodiesEndTheConnection) {
  const std::string second = "GET /metrics HTTP/1.1\r\n" + host_ + "\r\n";
  const std::string length = "Content-Length: " + std::to_string(second.size()) + "\r\n\r\n";
  for (const std::string& first :
       {"POST / HTTP/1.1\r\n" + host_ + length, "GET / HTTP/1.1\r\n" + host_ + length,
        "GET / HTTP/1.1\r\n" + host_ + "Transfer-Encoding: chunked\r\n\r\n"}) {
    const std::string answer = Exchange(port_, first + second);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 "));
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
    EXPECT_THAT(answer, Not(HasSubstr("stackray_up")));
  }
  EXPECT_TRUE(StillServes());
}

TEST_F(Abuse, ALargeBodyIsNeitherReadNorHungOn) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Exchange(port_, "POST / HTTP/1.1\r\n" + host_ + "Content-Length: 9000000\r\n\r\n" +
                                  std::string(200'000, 'x')),
              StartsWith("HTTP/1.1 405"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(Abuse, TwoRequestsOfOneConnectionAreBothAnswered) {
  const std::string one = "GET /metrics HTTP/1.1\r\n" + host_ + "\r\n";
  const std::string last = "GET /metrics HTTP/1.1\r\n" + host_ + "Connection: close\r\n\r\n";
  const std::string answer = Exchange(port_, one + last);
  EXPECT_NE(answer.find("stackray_up"), answer.rfind("stackray_up"));
}

TEST_F(Abuse, ByteRangesDoNotMultiplyAnAnswer) {
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  source_.profile = [](auto...) { return std::string(100'000, 'x'); };
  const std::string answer = GetRaw(port_, "/api/profile?from_ms=1&to_ms=2", ranges + "\r\n");
  EXPECT_LT(answer.size(), 102'000u);
  EXPECT_TRUE(StillServes());
}

TEST_F(Abuse, HeadsAreBounded) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(GetRaw(port_, "/", many), Not(HasSubstr("page")));
  EXPECT_THAT(GetRaw(port_, "/", "X: " + std::string(1'000'000, 'y') + "\r\n"),
              Not(HasSubstr("page")));
  EXPECT_THAT(GetRaw(port_, "/" + std::string(1'000'000, 'y')), Not(HasSubstr("page")));
  EXPECT_THAT(GetRaw(port_, "/" + std::string(14'000, 'y')), StartsWith("HTTP/1.1 414"));
  EXPECT_TRUE(StillServes());
}

TEST_F(Abuse, RandomBytesDoNotHarm) {
  std::mt19937 random(20260131);
  const std::string good = "GET /api/profile?from_ms=1&to_ms=2 HTTP/1.1\r\n" + host_ +
                           "Accept-Encoding: gzip\r\nConnection: close\r\n\r\n";
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const UniqueFd socket_fd = ConnectTo(port_);
    SendAll(socket_fd.get(), bytes);
    if (round % 50 == 0) ReceiveAll(socket_fd.get(), 100);
  }
  for (std::string_view bytes :
       {std::string_view("\r\n\r\n"), std::string_view("\0\0\0\0", 4),
        std::string_view("\x16\x03\x01\x02\x00", 5), std::string_view("GET\r\n\r\n")})
    ReceiveAll(
        [&] {
          static UniqueFd socket_fd;
          socket_fd = ConnectTo(port_);
          SendAll(socket_fd.get(), bytes);
          return socket_fd.get();
        }(),
        100);
  EXPECT_TRUE(StillServes());
}

TEST_F(Abuse, IdleConnectionsYieldToOthers) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 30; ++i) idle.push_back(ConnectTo(port_));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(StillServes());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(Abuse, SlowProfilesLeaveHealthReachable) {
  std::atomic<bool> go_on{false};
  source_.profile = [&](auto...) -> absl::StatusOr<std::string> {
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return "{}";
  };
  std::vector<std::thread> clients;
  std::atomic<int> refused{0};
  for (int i = 0; i < 44; ++i)  // Eleven more than may wait.
    clients.emplace_back([&, i] {
      const std::string path = "/api/profile?from_ms=1&to_ms=" + std::to_string(10 + i);
      if (GetRaw(port_, path).starts_with("HTTP/1.1 503")) ++refused;
    });
  while (refused < 6) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(StillServes());
  go_on = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(source_.most_at_once, 1);
}

}  // namespace
}  // namespace stackray
