// /api/view: the question is passed on as it is, and what nobody waits for is ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "agent/web_server/web_server.h"
#include "tests/agent/web_server/web_client.h"

namespace stackray {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

class View : public testing::Test {
 protected:
  // Waits until it holds; false: it never did.
  template <typename F>
  static bool Soon(F&& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(5));
    return holds();
  }
  FakeSource source_;
  std::unique_ptr<WebServer> server_ = StartAnywhere(source_);
  const std::string get_ =
      "GET /api/view?a=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n\r\n";
};

TEST_F(View, AQuestionIsPassedOn) {
  const std::string answer = GetRaw(server_->port(), "/api/view?from_ms=1&to_ms=2&query=a%20b");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("{\"query\":\"from_ms=1&to_ms=2&query=a%20b\"}"));
  EXPECT_THAT(answer, HasSubstr("Server-Timing: make;dur="));
}

TEST_F(View, WhatIsNoQuestionIsRefused) {
  source_.view = [](std::string_view, std::stop_token) -> absl::StatusOr<std::string> {
    return absl::InvalidArgumentError("rows: not a value of it");
  };
  const std::string answer = GetRaw(server_->port(), "/api/view?rows=x");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("rows: not a value of it"));
}

TEST_F(View, AClientThatGoesEndsTheWork) {
  std::atomic<int> begun{0}, stopped{0};
  source_.view = [&](std::string_view, std::stop_token stop) -> absl::StatusOr<std::string> {
    if (++begun > 2) return "{}";
    while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
    ++stopped;
    return absl::CancelledError("stopped");
  };
  for (int i = 1; i <= 2; ++i) {
    UniqueFd client = ConnectTo(server_->port());
    SendAll(client.get(), get_);
    ASSERT_TRUE(Soon([&] { return begun == i; }));
    client.reset();
    ASSERT_TRUE(Soon([&] { return stopped == i; }));
  }
  EXPECT_THAT(GetRaw(server_->port(), "/api/view?b=1"), StartsWith("HTTP/1.1 200"));
}

// One that waits behind another is not begun at all.
TEST_F(View, TwentyClientsAreAnsweredAndWhoLeftIsNot) {
  std::atomic<bool> go{false};
  std::atomic<int> made{0};
  source_.view = [&](std::string_view, std::stop_token stop) -> absl::StatusOr<std::string> {
    ++made;
    while (!go && !stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
    return "{}";
  };
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 21; ++i) {
    clients.push_back(ConnectTo(server_->port()));
    SendAll(clients.back().get(), get_);
  }
  ASSERT_TRUE(Soon([&] { return made == 1; }));
  std::this_thread::sleep_for(milliseconds(100));
  clients.pop_back();
  std::this_thread::sleep_for(milliseconds(100));
  go = true;
  for (const UniqueFd& client : clients)
    EXPECT_THAT(ReceiveAll(client.get(), 1000), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(made, 20);
}

}  // namespace
}  // namespace stackray
