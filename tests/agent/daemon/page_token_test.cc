#include "agent/daemon/page_token.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "kernel/unique_fd.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

class PageToken : public testing::Test {
 protected:
  void Put(const std::string& text, mode_t mode = 0600) {
    unlink(path_.c_str());
    std::ofstream(path_) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  std::string Read() const {
    std::string line;
    std::getline(std::ifstream(path_), line);
    return line;
  }
  std::string Take() const { return PageTokenIn(directory_.get()); }

  test::TemporaryDirectory root_;
  const std::string path_ = root_.File("page-token");
  const UniqueFd directory_{open(root_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(PageToken, IsKeptForItsOwnerAlone) {
  const std::string token = Take();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_TRUE(IsPageToken(token));
  EXPECT_EQ(Take(), token);
  EXPECT_EQ(Read(), token);
  struct stat facts;
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_NE(MakePageToken(), MakePageToken());
}

TEST_F(PageToken, OneOfTheOwnersChoosing) {
  Put("my-own_token-0123\n");
  EXPECT_EQ(Take(), "my-own_token-0123");
}

TEST_F(PageToken, WhatCannotBeTrustedIsReplaced) {
  for (const std::string& bad :
       {std::string(), std::string("\n"), std::string("short"), std::string(200, 'x'),
        std::string("with space in it-----"), std::string("quote\"quote\"quote\""),
        std::string("new\r\nHeader: x-------"), std::string(20, '\0')}) {
    Put(bad);
    const std::string token = Take();
    EXPECT_TRUE(IsPageToken(token)) << bad;
    EXPECT_NE(token, bad);
    EXPECT_EQ(Read(), token);
  }
  Put("readable-by-others-1", 0644);
  EXPECT_NE(Take(), "readable-by-others-1");
  const std::string elsewhere = root_.File("elsewhere");
  std::ofstream(elsewhere) << "behind-a-link-123456\n";
  ASSERT_EQ(chmod(elsewhere.c_str(), 0600), 0);
  unlink(path_.c_str());
  ASSERT_EQ(symlink(elsewhere.c_str(), path_.c_str()), 0);
  const std::string token = Take();
  EXPECT_NE(token, "behind-a-link-123456");
  EXPECT_EQ(Take(), token);
}

TEST_F(PageToken, WithoutAFileItHoldsForThisProcess) {
  const std::string token = PageTokenIn(-1);
  EXPECT_TRUE(IsPageToken(token));
  EXPECT_NE(PageTokenIn(-1), token);
}

}  // namespace
}  // namespace stackray
