#include "kernel/pid_namespace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stackray {
namespace {

TEST(PidNamespace, OfThisTestIsThatOfProc) {
  EXPECT_EQ(OwnPidInProc(), static_cast<uint32_t>(getpid()));
  EXPECT_EQ(PidNamespaceOfProc(), PidNamespaceOfProc());
}

TEST(PidNamespace, AChildHasItsNumber) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_EQ(ChildPidInProc(static_cast<uint32_t>(child)), static_cast<uint32_t>(child));
  EXPECT_TRUE(IsProcess(static_cast<uint32_t>(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(IsProcess(static_cast<uint32_t>(child)));
}

TEST(PidNamespace, NoNumberIsNoProcess) {
  EXPECT_FALSE(IsProcess(0));
  EXPECT_FALSE(IsProcess(0x7ffffffe));
  EXPECT_FALSE(IsProcess(0x80000001));
}

}  // namespace
}  // namespace stackray
