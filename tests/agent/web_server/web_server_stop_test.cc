// Stop() ends at once, whatever clients and the source are doing.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "agent/web_server/web_server.h"
#include "reporter/formats/gzip.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Stop : public testing::Test {
 protected:
  void ExpectQuickStop() {
    std::this_thread::sleep_for(milliseconds(150));  // Until the server is in the middle of it.
    const auto start = Clock::now();
    server_->Stop();
    EXPECT_LT(Clock::now() - start, milliseconds(1000));
    EXPECT_FALSE(ConnectTo(port_).valid());
    server_->Stop();  // Twice is allowed.
  }
  FakeSource source_;
  std::unique_ptr<WebServer> server_ = StartAnywhere(source_, "page");
  const uint16_t port_ = server_->port();
  const std::string get_ = "GET /api/profile HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n";
};

TEST_F(Stop, Unused) { ExpectQuickStop(); }

TEST_F(Stop, AtOnce) {
  for (int i = 0; i < 50; ++i) StartAnywhere(source_);
}

TEST_F(Stop, WithIdleAndHalfSentRequests) {
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 60; ++i) {  // More than workers and queue hold.
    connections.push_back(ConnectTo(port_));
    if (i % 2 == 0) SendAll(connections.back().get(), "GET / HTTP/1.1\r\nHost: 127.");
  }
  ExpectQuickStop();
}

TEST_F(Stop, WhileAClientDoesNotRead) {
  source_.compressed = *GzipCompress(std::string(50'000'000, 'x'));
  const UniqueFd slow = ConnectTo(port_);
  SendAll(slow.get(), get_);
  ExpectQuickStop();
}

TEST_F(Stop, WhileTheSourceWorks) {
  std::atomic<bool> stopped{false};
  source_.profile = [&](int64_t, int64_t, std::stop_token stop) -> absl::StatusOr<std::string> {
    while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(2));
    stopped = true;
    return absl::CancelledError("stopped");
  };
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 8; ++i) {
    connections.push_back(ConnectTo(port_));
    SendAll(connections.back().get(), get_);
  }
  ExpectQuickStop();
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace stackray
