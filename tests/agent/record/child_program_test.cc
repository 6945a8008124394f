// CMD of `record`: as whom it runs, and what it gets from root. Needs root, which skips by name.
#include "agent/record/child_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/privileges/core_dumps.h"
#include "agent/record/child_environment.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const SudoUser kNobody{65534, 65534, "nobody"};

TEST(ChildEnvironment, IsTheUsersAndTheRestStays) {
  const char* const of_root[] = {"HOME=/root",
                                 "PATH=/bin",
                                 "USER=root",
                                 "LOGNAME=root",
                                 "SHELL=/bin/bash",
                                 "MAIL=/var/mail/root",
                                 "SUDO_COMMAND=/x y",
                                 "STACKRAY_HEADER=s",
                                 "OTEL_SERVICE_NAME=shop",
                                 "HOMEPAGE=x",
                                 "A=B=C",
                                 nullptr};
  EXPECT_THAT(EnvironmentFor({"shop", "/home/shop", "/bin/sh"}, of_root),
              ElementsAre("PATH=/bin", "OTEL_SERVICE_NAME=shop", "HOMEPAGE=x", "A=B=C",
                          "HOME=/home/shop", "USER=shop", "LOGNAME=shop", "SHELL=/bin/sh"));
  EXPECT_THAT(EnvironmentFor({"shop", "", ""}, of_root),
              ElementsAre("PATH=/bin", "OTEL_SERVICE_NAME=shop", "HOMEPAGE=x", "A=B=C", "USER=shop",
                          "LOGNAME=shop"));
}

class ChildProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    chmod(directory_.path().c_str(), 0755);
    output_ = directory_.File("output");
    std::ofstream(output_).flush();
    chmod(output_.c_str(), 0666);
  }

  // What a shell says as CMD.
  std::string Run(const std::string& text, const std::optional<SudoUser>& user) {
    auto child = ChildProgram::Fork({"sh", "-c", "exec >" + output_ + " 2>&1; " + text}, user);
    EXPECT_TRUE(child.ok()) << child.status();
    EXPECT_TRUE((*child)->Release().ok());
    while (!(*child)->Poll()) usleep(1000);
    std::ifstream file(output_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const test::TemporaryDirectory directory_;
  std::string output_;
};

TEST_F(ChildProgramTest, HasNothingOfRootsButTheStandardStreams) {
  const std::string secret = directory_.Write("secret", "root's secret");
  ASSERT_EQ(chmod(secret.c_str(), 0600), 0);
  const int open_file = open(secret.c_str(), O_RDONLY);  // As root's shell may have left it open.
  ASSERT_EQ(dup2(open_file, 9), 9);
  setenv("STACKRAY_PASSWORD", "settings", 1);
  setenv("HOME", "/root", 1);
  const std::string script = "cat <&9; env; id -u; grep -E 'CapPrm|CapEff' /proc/self/status";
  const std::string of_user = Run(script, kNobody);
  EXPECT_THAT(of_user, Not(HasSubstr("secret\n")));
  EXPECT_THAT(of_user, Not(HasSubstr("root's secret")));
  EXPECT_THAT(of_user, Not(HasSubstr("settings")));
  EXPECT_THAT(of_user, Not(HasSubstr("HOME=/root")));
  EXPECT_THAT(of_user, HasSubstr("USER=nobody"));
  EXPECT_THAT(of_user, HasSubstr("\n65534\n"));
  EXPECT_THAT(of_user, HasSubstr("CapPrm:\t0000000000000000"));
  // As root it is root's own program, and gets all of it.
  const std::string of_root = Run(script, std::nullopt);
  EXPECT_THAT(of_root, HasSubstr("root's secret"));
  EXPECT_THAT(of_root, HasSubstr("STACKRAY_PASSWORD=settings"));
  unsetenv("STACKRAY_PASSWORD");
  close(9);
  close(open_file);
}

TEST_F(ChildProgramTest, MayDumpCoreAsBefore) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  const rlimit before = {limit.rlim_max, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
  const std::string expected = Run("ulimit -c", kNobody);
  ForbidCoreDumps();
  EXPECT_EQ(Run("ulimit -c", kNobody), expected);
}

}  // namespace
}  // namespace stackray
