// The control socket beside real clients: good ones, slow ones, damaged ones, those of another
// user.
#include "agent/control/control_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/control/control_client.h"
#include "agent/control/control_socket.h"
#include "agent/daemon/agent_requests.h"
#include "agent/daemon/state_directory.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

void Echo(ControlRequest request, const ControlServer::Reply& reply) {
  reply(Json({{"name", request.name},
              {"arguments", request.arguments},
              {"uid", request.peer.uid},
              {"pid", request.peer.pid}}));
}

class Control : public testing::Test {
 protected:
  void Begin(ControlServer::Handle handle = Echo) {
    if (state_ == nullptr) {
      auto state = StateDirectory::Open(folder_);
      ASSERT_TRUE(state.ok()) << state.status();
      state_ = *std::move(state);
    }
    auto server = ControlServer::Start(state_->fd(), std::move(handle));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  UniqueFd Connect() {
    absl::StatusOr<UniqueFd> socket = ConnectToControl(state_->fd());
    EXPECT_TRUE(socket.ok()) << socket.status();
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return *std::move(socket);
  }
  static std::string Talk(int socket, const std::string& sent) {
    EXPECT_EQ(send(socket, sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
    std::string line;
    char byte = 0;
    while (recv(socket, &byte, 1, 0) == 1 && byte != '\n') line += byte;
    return line;
  }
  const test::TemporaryDirectory directory_;
  const std::string& folder_ = directory_.path();
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<ControlServer> server_;
};

TEST_F(Control, AnswersWithWhoAsks) {
  Begin();
  const ControlAnswer answer = AskAgent(folder_, "hello", {{"a", 1}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)["name"], "hello");
  EXPECT_EQ((*answer)["arguments"]["a"], 1);
  EXPECT_EQ((*answer)["uid"], getuid());
  EXPECT_EQ((*answer)["pid"], getpid());
  struct stat facts = {};
  ASSERT_EQ(stat((folder_ + "/agent").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 077, 0u) << "nobody else may ask";
}

TEST_F(Control, LargeAnswersArriveWhole) {
  const std::string text(3'000'000, 'x');
  Begin([&](const ControlRequest&, const ControlServer::Reply& reply) { reply(Json(text)); });
  for (int i = 0; i < 3; ++i) {
    const ControlAnswer answer = AskAgent(folder_, "status");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, text);
  }
}

TEST_F(Control, OneConnectionMayAskAgainAndAhead) {
  Begin();
  const UniqueFd client = Connect();
  const std::string one = EncodeRequest("one", {}), two = EncodeRequest("two", {});
  EXPECT_THAT(Talk(client.get(), one + two), HasSubstr("one"));
  EXPECT_THAT(Talk(client.get(), EncodeRequest("three", {})), HasSubstr("two"));
  EXPECT_THAT(Talk(client.get(), " \n"), HasSubstr("three"));
  EXPECT_THAT(Talk(client.get(), one), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(Control, WhatIsNoRequestDelaysNoneBehindIt) {
  Begin();
  const UniqueFd client = Connect();
  EXPECT_THAT(Talk(client.get(), "no\nno\n" + EncodeRequest("one", {})),
              HasSubstr("INVALID_ARGUMENT"));
  // Nothing is sent any more, and the third answer comes all the same.
  EXPECT_THAT(Talk(client.get(), ""), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Talk(client.get(), ""), HasSubstr("one"));
}

TEST_F(Control, AReplyMayComeLaterAndFromAnotherThread) {
  std::mutex mutex;
  std::vector<ControlServer::Reply> waiting;
  Begin([&](const ControlRequest& request, const ControlServer::Reply& reply) {
    const std::lock_guard lock(mutex);
    if (request.name == "release") {
      for (const auto& earlier : waiting) std::thread([=] { earlier(Json("late")); }).join();
      waiting.clear();
      reply(Json("released"));
    } else {
      waiting.push_back(reply);
    }
  });
  const UniqueFd gone = Connect();
  const std::string wait = EncodeRequest("wait", {});
  ASSERT_EQ(send(gone.get(), wait.data(), wait.size(), 0), static_cast<ssize_t>(wait.size()));
  std::thread first([&] { EXPECT_EQ(AskAgent(folder_, "wait").value_or(Json()), "late"); });
  for (;;) {
    const std::lock_guard lock(mutex);
    if (waiting.size() == 2) break;
  }
  EXPECT_EQ(AskAgent(folder_, "release").value_or(Json()), "released");
  first.join();
}

TEST_F(Control, ARepliesServerMayBeGone) {
  ControlServer::Reply kept;
  std::mutex mutex;
  Begin([&](const ControlRequest&, const ControlServer::Reply& reply) {
    const std::lock_guard lock(mutex);
    kept = reply;
  });
  const UniqueFd client = Connect();
  const std::string wait = EncodeRequest("wait", {});
  ASSERT_EQ(send(client.get(), wait.data(), wait.size(), 0), static_cast<ssize_t>(wait.size()));
  for (bool asked = false; !asked;) {
    const std::lock_guard lock(mutex);
    asked = kept != nullptr;
  }
  server_.reset();
  kept(Json("nobody is there"));
}

TEST_F(Control, WithoutAnAgent) {
  for (const bool after_one : {false, true}) {
    if (after_one) {
      Begin();
      server_.reset();
    }
    const auto answer = AskAgent(folder_, "status");
    EXPECT_TRUE(absl::IsNotFound(answer.status())) << answer.status();
    EXPECT_THAT(std::string(answer.status().message()),
                testing::AllOf(HasSubstr("no agent runs whose state is in " + folder_),
                               HasSubstr("--state-dir")));
  }
}

TEST_F(Control, TheNextAgentTakesTheSocketOver) {
  Begin([](const ControlRequest&, const ControlServer::Reply& reply) { reply(Json("old")); });
  Begin([](const ControlRequest&, const ControlServer::Reply& reply) { reply(Json("new")); });
  EXPECT_EQ(AskAgent(folder_, "status").value_or(Json()), "new");
}

// A state directory may have a longer path than a socket's address.
TEST_F(Control, LongPaths) {
  std::string deep = folder_;
  for (int i = 0; i < 12; ++i) deep += "/directory-" + std::to_string(i);
  auto state = StateDirectory::Open(deep);
  ASSERT_TRUE(state.ok()) << state.status();
  auto server = ControlServer::Start((*state)->fd(), Echo);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(AskAgent(deep, "status").ok());
}

TEST_F(Control, ALineWithoutAnEndIsRefused) {
  Begin();
  const UniqueFd client = Connect();
  EXPECT_THAT(Talk(client.get(), std::string(kMostRequestBytes, 'x')), HasSubstr("too long"));
  EXPECT_TRUE(AskAgent(folder_, "status").ok());
}

TEST_F(Control, FiftyClientsOneOfWhichNeverReads) {
  Begin([](const ControlRequest&, const ControlServer::Reply& reply) {
    reply(Json(std::string(1'000'000, 'x')));
  });
  const UniqueFd lazy = Connect();
  const std::string request = EncodeRequest("status", {});
  ASSERT_EQ(send(lazy.get(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 25; ++i) silent.push_back(Connect());
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 24; ++i)
    clients.emplace_back([&] { answered += AskAgent(folder_, "status").ok() ? 1 : 0; });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 24);
}

TEST_F(Control, MoreClientsThanThereIsRoomFor) {
  Begin();
  std::vector<UniqueFd> silent;
  for (size_t i = 0; i < 2 * ControlServer::kMostClients; ++i) silent.push_back(Connect());
  EXPECT_TRUE(AskAgent(folder_, "status").ok());
}

TEST_F(Control, TenThousandDamagedRequests) {
  Begin();
  std::mt19937 random(11);
  const std::string whole = EncodeRequest("status", {{"a", {1, 2}}});
  for (int connection = 0; connection < 100; ++connection) {
    const UniqueFd client = Connect();
    std::string sent;
    for (int i = 0; i < 100; ++i) {
      std::string line = whole;
      for (unsigned n = 1 + random() % 8; n > 0; --n)
        line[random() % line.size()] = static_cast<char>(random());
      sent += line.substr(0, 1 + random() % line.size());
    }
    send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  EXPECT_TRUE(AskAgent(folder_, "status").ok());
}

// What a process of another user gets to hear of a request that changes something. Its descriptor
// of the directory was opened by root; by the path it would not come this far.
TEST_F(Control, AnotherUserMayNotChangeAnything) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  SnapshotBoard board;
  Mailbox mailbox;
  Begin([&](ControlRequest request, const ControlServer::Reply& reply) {
    HandleRequest(std::move(request), reply, board, mailbox);
  });
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    if (AskAgent(folder_, kReloadRequest).status().code() != absl::StatusCode::kPermissionDenied)
      _exit(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::string said;
  HandleRequest(
      {.name = kReloadRequest, .peer = {.uid = 65534}},
      [&](const ControlAnswer& answer) { said = std::string(answer.status().message()); }, board,
      mailbox);
  EXPECT_THAT(said, HasSubstr("root"));
  EXPECT_TRUE(mailbox.TakeAll().empty());
}

TEST_F(Control, AnUnknownRequestIsToldWhatThereIs) {
  SnapshotBoard board;
  Mailbox mailbox;
  std::string said;
  HandleRequest(
      {.name = "refresh"},
      [&](const ControlAnswer& answer) { said = std::string(answer.status().message()); }, board,
      mailbox);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("refresh"), HasSubstr("status, reload")));
}

}  // namespace
}  // namespace stackray
