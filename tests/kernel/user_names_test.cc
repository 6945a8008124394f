// Users' names beside what the C library says.
#include "kernel/user_names.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace stackray {
namespace {

TEST(UserNames, EachLineIsAUser) {
  const auto names = ParsePasswd(
      "root:x:0:0:root:/root:/bin/bash\n# x:y:5:5\n\nwww-data:x:33:33\nalias:x:33:33\n"
      ":x:7:7\nno-id:x::1\nlarge:x:4294967296:1\nlast:x:1000");
  EXPECT_EQ(names,
            (std::map<uint32_t, std::string>{{0, "root"}, {33, "www-data"}, {1000, "last"}}));
  std::string too_long(300, 'a');
  too_long += ":x:1:1\n";
  EXPECT_TRUE(ParsePasswd(too_long).empty());
}

TEST(UserNames, TheEffectiveUserCounts) {
  EXPECT_EQ(EffectiveUserOf("Name:\ta\nUid:\t1000\t33\t0\t0\nGid:\t1\t2\n"), 33u);
  for (const char* bad : {"", "Uid:", "Uid:\t1000", "Uid:\t1\tx\t1", "Gid:\t1\t2\t3\t4\n"})
    EXPECT_EQ(EffectiveUserOf(bad), std::nullopt) << bad;
}

TEST(UserNames, EqualWhatTheLibrarySays) {
  std::ifstream file("/etc/passwd");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto names = ParsePasswd(text);
  size_t users = 0;
  setpwent();
  while (const passwd* user = getpwent()) {
    if (names.contains(user->pw_uid)) ++users;
  }
  endpwent();
  EXPECT_GT(users, 2u);
  for (const auto& [id, name] : names) {
    const passwd* user = getpwuid(id);
    ASSERT_NE(user, nullptr) << id;
    EXPECT_EQ(name, user->pw_name);
  }
  const passwd* own = getpwuid(geteuid());
  EXPECT_EQ(UserNames().OfProcess(static_cast<uint32_t>(getpid())),
            own != nullptr ? own->pw_name : std::to_string(geteuid()));
}

TEST(UserNames, AUserWithoutANameIsANumber) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: gives up its rights";
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(3'999'999'999, 3'999'999'999, 3'999'999'999) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(UserNames().OfProcess(static_cast<uint32_t>(child)), "3999999999");
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_EQ(UserNames().OfProcess(static_cast<uint32_t>(child)), "");
}

}  // namespace
}  // namespace stackray
