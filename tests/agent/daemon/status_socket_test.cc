#include "agent/daemon/status_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>

#include "agent/daemon/state_directory.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;

class Status : public testing::Test {
 protected:
  const test::TemporaryDirectory directory_;
  const std::string& folder_ = directory_.path();
};

TEST_F(Status, AnswersEveryConnectionWithTheWholeText) {
  const std::string text(3'000'000, 'x');  // More than a socket holds at once.
  auto state = StateDirectory::Open(folder_);
  ASSERT_TRUE(state.ok()) << state.status();
  int asked = 0;
  auto server = StatusSocket::Start((*state)->fd(), [&] {
    ++asked;
    return text;
  });
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 3; ++i) {
    const auto answer = AskStatus(folder_);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, text);
  }
  server->reset();
  EXPECT_EQ(asked, 3);
  struct stat facts = {};
  ASSERT_EQ(stat((folder_ + "/agent").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 077, 0u);  // Nobody else may ask.
}

// A state directory may have a longer path than a socket's address.
TEST_F(Status, LongPaths) {
  std::string deep = folder_;
  for (int i = 0; i < 12; ++i) deep += "/directory-" + std::to_string(i);
  auto state = StateDirectory::Open(deep);
  ASSERT_TRUE(state.ok()) << state.status();
  auto server = StatusSocket::Start((*state)->fd(), [] { return std::string("deep"); });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(AskStatus(deep).value_or(""), "deep");
}

TEST_F(Status, WithoutAnAgent) {
  for (const bool after_one : {false, true}) {
    if (after_one) {
      auto state = StateDirectory::Open(folder_);
      ASSERT_TRUE(state.ok());
      ASSERT_TRUE(StatusSocket::Start((*state)->fd(), [] { return std::string(); }).ok());
    }
    const auto answer = AskStatus(folder_);
    EXPECT_TRUE(absl::IsNotFound(answer.status())) << answer.status();
    EXPECT_THAT(std::string(answer.status().message()),
                testing::AllOf(HasSubstr("no agent runs whose state is in " + folder_),
                               HasSubstr("--state-dir")));
  }
}

TEST_F(Status, TheNextAgentTakesTheSocketOver) {
  auto state = StateDirectory::Open(folder_);
  ASSERT_TRUE(state.ok());
  ASSERT_TRUE(StatusSocket::Start((*state)->fd(), [] { return std::string("old"); }).ok());
  auto server = StatusSocket::Start((*state)->fd(), [] { return std::string("new"); });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(AskStatus(folder_).value_or(""), "new");
}

// One that connects and reads nothing holds the others up for a moment only, and the end not at all.
TEST_F(Status, AClientThatDoesNotRead) {
  auto state = StateDirectory::Open(folder_);
  ASSERT_TRUE(state.ok());
  auto server = StatusSocket::Start((*state)->fd(), [] { return std::string(3'000'000, 'x'); });
  ASSERT_TRUE(server.ok());
  const UniqueFd lazy(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ + "/agent/status.sock";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(connect(lazy.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto answer = AskStatus(folder_);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->size(), 3'000'000u);
}

}  // namespace
}  // namespace stackray
