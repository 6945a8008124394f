#include "agent/record/group_witness.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stackray {
namespace {

TEST(IsPending, ReadsTheMaskOfTheProcess) {
  constexpr std::string_view kStatus =
      "Name:\tx\nSigPnd:\tffffffffffffffff\nShdPnd:\t0000000000004002\nSigBlk:\t0\n";
  EXPECT_TRUE(IsPending(kStatus, SIGINT));
  EXPECT_TRUE(IsPending(kStatus, SIGTERM));
  EXPECT_FALSE(IsPending(kStatus, SIGHUP));
  for (const std::string_view damaged : {"", "\nShdPnd:\t", "\nShdPnd:\tzz\n"})
    EXPECT_FALSE(IsPending(damaged, SIGINT));
  EXPECT_FALSE(IsPending(kStatus, 0));
  EXPECT_FALSE(IsPending(kStatus, 65));
}

// In a group of its own, so that the signals do not reach the tests' runner. Exit code: bit 0: the
// witness has seen what went to one process alone, bit 1: it has not seen what went to the group.
int InOwnGroup() {
  setpgid(0, 0);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  const std::unique_ptr<GroupWitness> witness = GroupWitness::Fork();
  if (witness == nullptr) return 77;
  kill(getpid(), SIGINT);
  kill(0, SIGTERM);
  usleep(20'000);
  return (witness->Got(SIGINT) ? 1 : 0) | (witness->Got(SIGTERM) ? 0 : 2);
}

TEST(GroupWitness, SeesWhatWentToTheGroupAlone) {
  const pid_t child = fork();
  if (child == 0) _exit(InOwnGroup());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace stackray
