#include "agent/privileges/core_dumps.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/privileges/forked_process.h"
#include "tests/agent/privileges/in_child.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

// Did a process that aborts leave a core? `prepare` runs in it.
template <typename Prepare>
bool LeavesCore(const std::string& folder, Prepare prepare) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &unlimited);
    if (chdir(folder.c_str()) != 0) _exit(1);
    prepare();
    signal(SIGABRT, SIG_DFL);
    kill(getpid(), SIGABRT);
    _exit(2);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  return WCOREDUMP(status);
}

TEST(CoreDumps, AreForbiddenToUsAndOurForks) {
  const test::TemporaryDirectory directory;
  if (!LeavesCore(directory.path(), [] {})) GTEST_SKIP() << "no cores here";
  EXPECT_FALSE(LeavesCore(directory.path(), ForbidCoreDumps));
  EXPECT_FALSE(LeavesCore(directory.path(), [] {
    ForbidCoreDumps();
    if (fork() == 0) kill(getpid(), SIGABRT);
    int status = 0;
    wait(&status);
    if (WCOREDUMP(status)) prctl(PR_SET_DUMPABLE, 1);
  }));
  // A program as core_pattern has no limit, so each of the two must hold alone.
  EXPECT_FALSE(LeavesCore(directory.path(), [] {
    ForbidCoreDumps();
    RestoreCoreLimit();
  }));
}

TEST(CoreDumps, ForkedProcessesForbidThemByThemselves) {
  EXPECT_EQ(InChild([] {
              const pid_t agent = getpid();
              return InChild([agent] {
                       BecomeForked(agent, -1, "name");
                       return prctl(PR_GET_DUMPABLE) == 0 ? 5 : 1;
                     }) == "exit 5"
                         ? 5
                         : 1;
            }),
            "exit 5");
}

TEST(CoreDumps, TheLimitComesBackForAnotherProgram) {
  EXPECT_EQ(InChild([] {
              rlimit before = {}, during = {}, after = {};
              getrlimit(RLIMIT_CORE, &before);
              before.rlim_cur = before.rlim_max;
              setrlimit(RLIMIT_CORE, &before);
              ForbidCoreDumps();
              getrlimit(RLIMIT_CORE, &during);
              RestoreCoreLimit();
              getrlimit(RLIMIT_CORE, &after);
              return during.rlim_cur == 0 && after.rlim_cur == before.rlim_cur ? 5 : 1;
            }),
            "exit 5");
}

}  // namespace
}  // namespace stackray
