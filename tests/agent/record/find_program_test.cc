#include "agent/record/find_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

class FindProgramTest : public testing::Test {
 protected:
  std::string Program(const std::string& name, mode_t mode) {
    const std::string path = directory_.Write(name, "#!/bin/sh\n");
    chmod(path.c_str(), mode);
    return path;
  }
  int CodeOf(const std::string& name) {
    const absl::Status status = FindProgram(name, "/no/such:" + directory_.path());
    return status.ok() ? 0 : ExitCodeOfExec(status);
  }
  const test::TemporaryDirectory directory_;
};

TEST_F(FindProgramTest, ByNameAndByPath) {
  const std::string good = Program("good", 0755), data = Program("data", 0644);
  EXPECT_EQ(CodeOf("good"), 0);
  EXPECT_EQ(CodeOf(good), 0);
  EXPECT_EQ(CodeOf("data"), 126);
  EXPECT_EQ(CodeOf(data), 126);
  EXPECT_EQ(CodeOf(directory_.path()), 126);  // A directory.
  EXPECT_EQ(CodeOf("none"), 127);
  EXPECT_EQ(CodeOf(directory_.File("none")), 127);
  EXPECT_EQ(CodeOf(good + "/below"), 127);
  EXPECT_EQ(CodeOf(""), 127);
}

// As execvp() goes on where a folder of $PATH has a file that may not be executed.
TEST_F(FindProgramTest, ALaterFolderMayHaveIt) {
  Program("tool", 0644);
  const test::TemporaryDirectory later;
  chmod(later.Write("tool", "#!/bin/sh\n").c_str(), 0755);
  EXPECT_TRUE(FindProgram("tool", directory_.path() + ":" + later.path()).ok());
}

TEST_F(FindProgramTest, TheMessageNamesIt) {
  EXPECT_THAT(std::string(FindProgram("none", "").message()), testing::HasSubstr("none"));
}

}  // namespace
}  // namespace stackray
