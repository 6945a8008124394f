// A file that its owner alone may read, and an agent that gave up reading everybody's: to the agent
// it is what FUSE without allow_root is. Needs root, which skips by name.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/privileges/capability_drop.h"
#include "agent/privileges/helper_client.h"
#include "tests/agent/privileges/in_child.h"

namespace stackray {
namespace {

constexpr uid_t kUser = 54321;

std::string StatusOf(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  return std::string(std::istreambuf_iterator<char>(status), {});
}

class Helper : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = OwnPrivileges();
    if (geteuid() != 0 || !own || !own->effective.Has(Capability::kSetuid))
      GTEST_SKIP() << "needs root";
    char name[] = "/tmp/stackray-helper-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    program_ = folder_ + "/program";
    std::filesystem::copy_file("/bin/sleep", program_);
    ASSERT_EQ(chown(program_.c_str(), kUser, kUser), 0);
    ASSERT_EQ(chmod(program_.c_str(), 0700), 0);
    StartProgram();
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void StartProgram() {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      if (setgid(kUser) != 0 || setuid(kUser) != 0) _exit(1);
      execl(program_.c_str(), "program", "60", nullptr);
      _exit(1);
    }
    close(ends[1]);
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 0);  // The exec has closed it.
    close(ends[0]);
  }

  // 0: the copy holds the file's bytes.
  int ReadProgram(HelperClient& helper) const {
    if (open(program_.c_str(), O_RDONLY) >= 0) return 10;  // Then it proves nothing.
    const UniqueFd path(open(program_.c_str(), O_PATH | O_CLOEXEC));
    if (!path.valid()) return 13;
    const absl::StatusOr<CopiedFile> file = helper.Copy(path.get(), static_cast<uint32_t>(pid_));
    if (absl::IsPermissionDenied(file.status())) return 11;
    if (absl::IsUnavailable(file.status())) return 12;
    if (!file.ok()) return 14;
    char bytes[4] = {};
    if (pread(file->fd.get(), bytes, 4, 0) != 4 || std::string(bytes, 4) != "\177ELF") return 15;
    struct stat copy, real;
    if (fstat(file->fd.get(), &copy) != 0 || stat(program_.c_str(), &real) != 0) return 16;
    return copy.st_size == real.st_size && file->info.st_ino == real.st_ino &&
                   file->info.st_mtim.tv_nsec == real.st_mtim.tv_nsec && file->share != nullptr
               ? 0
               : 17;
  }

  std::string folder_, program_;
  pid_t pid_ = -1;
};

constexpr CapabilitySet kAgentWithoutFiles{Capability::kSysPtrace, Capability::kCheckpointRestore};

// Runs `body` as an agent with a helper.
template <typename Body>
int WithHelper(const std::string& copies, Body body) {
  absl::StatusOr<HelperProcess> process = ForkHelper(copies);
  if (!process.ok()) return 20;
  static HelperClient helper(*std::move(process));
  if (!KeepOnly(kAgentWithoutFiles).ok()) return 21;
  return body(helper);
}

TEST_F(Helper, ReadsAFileAsItsUser) {
  EXPECT_EQ(InChild([&] {
              return WithHelper(folder_, [&](HelperClient& helper) { return ReadProgram(helper); });
            }),
            "exit 0");
}

TEST_F(Helper, ACopyLiesInMemoryWhereThereIsNoFolder) {
  EXPECT_EQ(InChild([&] {
              return WithHelper("/nowhere",
                                [&](HelperClient& helper) { return ReadProgram(helper); });
            }),
            "exit 0");
}

TEST_F(Helper, WhatItsUserMayNotReadEitherSaysSo) {
  ASSERT_EQ(chmod(program_.c_str(), 0100), 0);
  EXPECT_EQ(InChild([&] {
              return WithHelper(folder_, [&](HelperClient& helper) { return ReadProgram(helper); });
            }),
            "exit 11");
}

TEST_F(Helper, WithoutAnAnswerTheAgentGoesOn) {
  EXPECT_EQ(InChild([&] {
              return WithHelper(folder_, [&](HelperClient& helper) {
                kill(helper.pid(), SIGSTOP);
                const int first = ReadProgram(helper);
                const time_t began = time(nullptr);
                const int second = ReadProgram(helper);  // Not asked again.
                kill(helper.pid(), SIGKILL);
                return time(nullptr) - began > 1 ? 30 : first == 12 ? second : first;
              });
            }),
            "exit 12");
}

// The process that copies as kUser, once it has become that user; -1: there was none for 5 s.
pid_t FindCopy(pid_t helper) {
  const std::string user = fmt::format("Uid:\t{0}\t{0}", kUser);
  for (int i = 0; i < 50'000; ++i) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", helper));
    pid_t copy = -1;
    if (children >> copy && StatusOf(copy).find(user) != std::string::npos) return copy;
    usleep(100);
  }
  return -1;
}

TEST_F(Helper, ACopyThatItsUserHasStoppedEndsInTime) {
  const std::string large = folder_ + "/large";
  std::ofstream(large).flush();
  std::filesystem::resize_file(large, 250 << 20);  // Takes long enough to be met.
  ASSERT_EQ(chown(large.c_str(), kUser, kUser), 0);
  ASSERT_EQ(chmod(large.c_str(), 0700), 0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    _exit(WithHelper(folder_, [&](HelperClient& helper) {
      const pid_t pid = helper.pid();
      (void)!write(ends[1], &pid, sizeof(pid));
      const UniqueFd path(open(large.c_str(), O_PATH | O_CLOEXEC));
      helper.Copy(path.get(), static_cast<uint32_t>(pid_)).status().IgnoreError();
      return pause();
    }));
  }
  pid_t helper = 0;
  ASSERT_EQ(read(ends[0], &helper, sizeof(helper)), static_cast<ssize_t>(sizeof(helper)));
  const pid_t copy = FindCopy(helper);
  EXPECT_GT(copy, 0);
  EXPECT_EQ(kill(copy, SIGSTOP), 0);
  usleep(500'000);
  EXPECT_NE(StatusOf(copy).find("State:\tT"), std::string::npos) << StatusOf(copy);
  constexpr int kMostTenths = 120;
  int tenths = 0;
  while (kill(copy, 0) == 0 && tenths++ < kMostTenths) usleep(100'000);
  EXPECT_LT(tenths, kMostTenths);
  kill(agent, SIGKILL);
  waitpid(agent, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Helper, LowersTheNiceValueOfOurThreadsAlone) {
  const auto own = OwnPrivileges();
  if (!own->effective.Has(Capability::kSysNice)) GTEST_SKIP() << "needs CAP_SYS_NICE";
  EXPECT_EQ(InChild([&] {
              return WithHelper(folder_, [&](HelperClient& helper) {
                if (!helper.SetNice(gettid(), -5).ok()) return 1;
                if (getpriority(PRIO_PROCESS, 0) != -5) return 2;
                if (helper.SetNice(pid_, -5).ok() || helper.SetNice(gettid(), -20).ok()) return 3;
                return 0;
              });
            }),
            "exit 0");
}

TEST_F(Helper, EndsWithTheAgentAndKeepsNoOtherRight) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string ended = InChild([&] {
    return WithHelper(folder_, [&](HelperClient& helper) {
      if (!helper.SetNice(gettid(), 0).ok()) return 4;  // It answers, so it has begun.
      const auto task = ParseTaskPrivileges(StatusOf(helper.pid()));
      const CapabilitySet most{Capability::kSetuid, Capability::kSetgid, Capability::kSysNice};
      if (!task || task->effective.Or(most) != most || task->bounding.Or(most) != most) return 1;
      const pid_t pid = helper.pid();
      if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) return 2;
      kill(getpid(), SIGKILL);
      return 3;
    });
  });
  EXPECT_EQ(ended, fmt::format("signal {}", SIGKILL));
  pid_t helper = 0;
  ASSERT_EQ(read(ends[0], &helper, sizeof(helper)), static_cast<ssize_t>(sizeof(helper)));
  bool gone = false;
  for (int i = 0; i < 100 && !gone; ++i) {
    gone = StatusOf(helper).find("stackray-helper") == std::string::npos ||
           StatusOf(helper).find("State:\tZ") != std::string::npos;  // Nobody may wait for it.
    if (!gone) usleep(20'000);
  }
  EXPECT_TRUE(gone);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace stackray
