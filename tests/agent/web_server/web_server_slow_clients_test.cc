// Clients that send or read slowly, many of them, take nothing from others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "agent/web_server/http_server.h"
#include "agent/web_server/web_server.h"
#include "reporter/formats/gzip.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kSlowClients = 200;
constexpr milliseconds kLimit{1000};

class SlowClients : public testing::Test {
 protected:
  // The longest of several answers.
  milliseconds LongestAnswer(int rounds) {
    milliseconds longest{0};
    for (int i = 0; i < rounds; ++i) {
      for (const char* path : {"/healthz", "/metrics"}) {
        const auto began = Clock::now();
        EXPECT_THAT(GetRaw(port_, path), StartsWith("HTTP/1.1 200 ")) << path << " " << i;
        longest = std::max(longest, std::chrono::ceil<milliseconds>(Clock::now() - began));
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    return longest;
  }
  FakeSource source_;
  const std::unique_ptr<WebServer> server_ = StartAnywhere(source_, "page");
  const uint16_t port_ = server_->port();
  const std::string begun_ = "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX: ";
};

TEST_F(SlowClients, WhoSendsAByteNowAndThen) {
  std::vector<UniqueFd> slow;
  for (size_t i = 0; i < kSlowClients; ++i) slow.push_back(ConnectTo(port_));
  for (size_t at = 0; at < 10; ++at) {
    for (const UniqueFd& each : slow) SendAll(each.get(), std::string_view(begun_).substr(at, 1));
    EXPECT_LT(LongestAnswer(1), kLimit);
  }
}

TEST_F(SlowClients, WhoSendsNothing) {
  std::vector<UniqueFd> slow;
  for (size_t i = 0; i < kSlowClients; ++i) slow.push_back(ConnectTo(port_));
  EXPECT_LT(LongestAnswer(5), kLimit);
}

TEST_F(SlowClients, WhoDoesNotReadItsAnswer) {
  source_.compressed = *GzipCompress(std::string(20'000'000, 'x'));
  std::vector<UniqueFd> slow;
  for (size_t i = 0; i < kSlowClients; ++i) {
    slow.push_back(ConnectTo(port_));
    SendAll(slow.back().get(),
            "GET /api/profile?from_ms=1&to_ms=2 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n");
  }
  EXPECT_LT(LongestAnswer(5), kLimit);
  EXPECT_EQ(source_.most_at_once, 1);
}

TEST_F(SlowClients, MoreThanThereArePlacesFor) {
  std::vector<UniqueFd> slow;
  for (size_t i = 0; i < 2 * HttpServer::kMostConnections; ++i) {
    slow.push_back(ConnectTo(port_));
    SendAll(slow.back().get(), begun_);
  }
  EXPECT_LT(LongestAnswer(5), kLimit);
  // The first ones had to go.
  EXPECT_EQ(ReceiveAll(slow.front().get(), 1000), "");
}

// One that has begun its head has 5 s for all of it.
TEST_F(SlowClients, AHeadHasADeadline) {
  const UniqueFd slow = ConnectTo(port_);
  SendAll(slow.get(), begun_);
  const auto began = Clock::now();
  char byte = 0;
  while (Clock::now() - began < std::chrono::seconds(10)) {
    SendAll(slow.get(), "y");
    std::this_thread::sleep_for(milliseconds(100));
    if (recv(slow.get(), &byte, 1, MSG_DONTWAIT) == 0) break;  // Closed.
  }
  EXPECT_GT(Clock::now() - began, milliseconds(4500));
  EXPECT_LT(Clock::now() - began, milliseconds(7000));
}

}  // namespace
}  // namespace stackray
