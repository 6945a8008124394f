// Each case binds a process of its own. personality(2) stands for a call that nobody here makes.
#include "agent/privileges/system_call_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "agent/log.h"
#include "agent/privileges/helper_client.h"
#include "agent/privileges/system_calls.h"
#include "tests/agent/privileges/in_child.h"

namespace stackray {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

class SystemCallFilter : public testing::Test {
 protected:
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer's runtime makes calls of its own";
  }
};

constexpr int kNoFilter = 99;

bool Load(CallsOutside outside) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && LoadSystemCallFilter(outside).ok();
}

int ErrorOfPersonality() {
  errno = 0;
  return personality(0xffffffff) == -1 ? errno : 0;
}

const std::string kEndedByFilter = fmt::format("signal {}", SIGSYS);

TEST_F(SystemCallFilter, ACallOutsideTheListFailsAsOnAKernelWithoutIt) {
  EXPECT_EQ(InChild([] { return Load(CallsOutside::kErrno) ? ErrorOfPersonality() : kNoFilter; }),
            fmt::format("exit {}", ENOSYS));
}

TEST_F(SystemCallFilter, TheStrictListEndsTheProcess) {
  EXPECT_EQ(InChild([] { return Load(CallsOutside::kEnd) ? ErrorOfPersonality() : kNoFilter; }),
            kEndedByFilter);
}

TEST_F(SystemCallFilter, AnotherProgramOrAMountEndsTheProcess) {
  EXPECT_EQ(InChild([] {
              if (!Load(CallsOutside::kErrno)) return kNoFilter;
              execl("/bin/true", "true", nullptr);
              return 0;
            }),
            kEndedByFilter);
  EXPECT_EQ(InChild([] {
              if (!Load(CallsOutside::kErrno)) return kNoFilter;
              mount("none", "/proc", "tmpfs", 0, nullptr);
              return 0;
            }),
            kEndedByFilter);
}

TEST_F(SystemCallFilter, ThreadsMayBeStartedProcessesMayNot) {
  EXPECT_EQ(InChild([] {
              if (!Load(CallsOutside::kErrno)) return kNoFilter;
              int error = 0;
              std::thread([&] { error = ErrorOfPersonality(); }).join();
              const pid_t pid = fork();
              if (pid == 0) _exit(0);
              return error == ENOSYS && pid == -1 && errno == ENOSYS ? 0 : 1;
            }),
            "exit 0");
}

// The helper answers; its log is this process's standard error.
int MakeTwoCallsWithAHelper(const std::string& log) {
  if (freopen(log.c_str(), "w", stderr) == nullptr) return 1;
  InitLog({});
  absl::StatusOr<HelperProcess> process = ForkHelper("/tmp");
  if (!process.ok() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  HelperClient helper(*std::move(process));
  absl::StatusOr<UniqueFd> listener = LoadSystemCallFilter(CallsOutside::kNotify);
  if (!listener.ok() || !listener->valid()) return 3;
  if (!helper.AnswerSystemCalls(*std::move(listener))) return 4;
  if (ErrorOfPersonality() != ENOSYS || ErrorOfPersonality() != ENOSYS) return 5;
  // Without its reader the kernel answers.
  kill(helper.pid(), SIGKILL);
  waitpid(helper.pid(), nullptr, 0);
  return ErrorOfPersonality() == ENOSYS ? 0 : 6;
}

TEST_F(SystemCallFilter, TheFirstCallOfANumberIsLogged) {
  const std::string log = testing::TempDir() + "system_call_filter_test.log";
  ASSERT_EQ(InChild([&] { return MakeTwoCallsWithAHelper(log); }), "exit 0");
  std::ifstream file(log);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, testing::HasSubstr("system call personality ("));
  EXPECT_EQ(text.find("personality"), text.rfind("personality")) << text;
  unlink(log.c_str());
}

TEST(SystemCalls, NoneIsOnBothLists) {
  std::set<std::string> names;
  for (const char* name : AllowedSystemCalls()) EXPECT_TRUE(names.insert(name).second) << name;
  for (const char* name : EndingSystemCalls()) EXPECT_TRUE(names.insert(name).second) << name;
}

}  // namespace
}  // namespace stackray
