// Collectors: whose they are, where they run, and that nothing of them stays. Needs root, which
// skips by name.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/privileges/capability_set.h"
#include "agent/privileges/collector_client.h"
#include "agent/privileges/collector_process.h"

namespace stackray {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

constexpr uid_t kUser = 54321;

// Processes of this command line, wherever they are.
int CountOf(const std::string& words) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline");
    std::string line((std::istreambuf_iterator<char>(file)), {});
    for (char& c : line)
      if (c == '\0') c = ' ';
    if (line == words + " ") ++count;
  }
  return count;
}

class Collectors : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = OwnPrivileges();
    if (geteuid() != 0 || !own || !own->effective.Has(Capability::kSysAdmin))
      GTEST_SKIP() << "needs root";
  }
  void TearDown() override {
    client_.reset();
    if (target_ > 0) {
      kill(target_, SIGKILL);
      waitpid(target_, nullptr, 0);
    }
  }

  // A process of another user, called "target"; `prepare` runs in it as root.
  void StartTarget(uid_t user = kUser, int (*prepare)() = nullptr) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    target_ = fork();
    if (target_ == 0) {
      if (prepare != nullptr && prepare() != 0) _exit(1);
      if (setgid(user) != 0 || setuid(user) != 0) _exit(1);
      prctl(PR_SET_NAME, "target");
      (void)!write(ends[1], "r", 1);
      for (;;) pause();
    }
    close(ends[1]);
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }

  absl::StatusOr<Collected> Run(CollectorEntry collector) {
    collector.name = "test";
    absl::StatusOr<HelperProcess> process = ForkCollectors({collector});
    if (!process.ok()) return process.status();
    client_ = std::make_unique<CollectorClient>(*std::move(process),
                                                std::vector<CollectorEntry>{collector});
    return client_->Run(0, static_cast<uint32_t>(target_), [] { return true; });
  }
  absl::StatusOr<Collected> Shell(const std::string& text, CollectorEntry collector = {}) {
    collector.exec = {"sh", "-c", text};
    return Run(std::move(collector));
  }

  pid_t target_ = -1;
  std::unique_ptr<CollectorClient> client_;
};

TEST_F(Collectors, RunAsTheUserWithTheProcesssNumber) {
  StartTarget();
  const absl::StatusOr<Collected> collected =
      Run({.exec = {"sh", "-c", "id -u; id -g; echo $0", "{pid}"}});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->text, fmt::format("{0}\n{0}\n{1}\n", kUser, target_));
  EXPECT_TRUE(collected->end.ok()) << collected->end;
  EXPECT_FALSE(collected->is_cut);
}

TEST_F(Collectors, HaveNoRightsAndNoEnvironment) {
  for (const uid_t user : {kUser, uid_t{0}}) {
    StartTarget(user);
    const absl::StatusOr<Collected> collected =
        Shell("grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status; env | cut -d= -f1 | sort");
    ASSERT_TRUE(collected.ok()) << collected.status();
    EXPECT_THAT(collected->text, HasSubstr("CapPrm:\t0000000000000000"));
    EXPECT_THAT(collected->text, HasSubstr("CapEff:\t0000000000000000"));
    EXPECT_THAT(collected->text, HasSubstr("NoNewPrivs:\t1"));
    EXPECT_THAT(collected->text, EndsWith("LANG\nPATH\nPWD\n"));
    TearDown();
  }
}

TEST_F(Collectors, SeeTheProcesssOwnFilesAndNumbers) {
  StartTarget(kUser, [] {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return 1;
    const pid_t inside = fork();  // The first of its namespace; its parent only waits.
    if (inside < 0) return 1;
    if (inside > 0) {
      waitpid(inside, nullptr, 0);
      _exit(0);
    }
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("none", "/proc", "proc", 0, nullptr) != 0 ||
        mount("none", "/mnt", "tmpfs", 0, nullptr) != 0)
      return 1;
    std::ofstream("/mnt/of-the-container") << "its own\n";
    return 0;
  });
  // The target of the collector is the process inside.
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", target_));
  pid_t inside = 0;
  ASSERT_TRUE(children >> inside);
  const pid_t outside = std::exchange(target_, inside);
  const absl::StatusOr<Collected> collected =
      Shell("cat /mnt/of-the-container; cat /proc/{pid}/comm; echo {pid}");
  target_ = outside;
  kill(inside, SIGKILL);
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->text, "its own\ntarget\n1\n");
}

TEST_F(Collectors, AreKilledWithTheirChildrenAtTheDeadline) {
  StartTarget();
  const absl::StatusOr<Collected> collected =
      Shell("echo begun; setsid sleep 71717 & (sleep 71717 &) ; sleep 71717", {.timeout_ms = 500});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->text, "begun\n");
  EXPECT_THAT(std::string(collected->end.message()), HasSubstr("its time was over"));
  EXPECT_EQ(CountOf("sleep 71717"), 0);
}

TEST_F(Collectors, LeaveNoChildrenWhenTheyEnd) {
  StartTarget();
  const absl::StatusOr<Collected> collected = Shell("setsid sleep 71718 & sleep 0.1; echo end");
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->text, "end\n");
  EXPECT_EQ(CountOf("sleep 71718"), 0);
}

TEST_F(Collectors, WriteNoMoreThanTheyMay) {
  StartTarget();
  const absl::StatusOr<Collected> collected =
      Shell("while :; do echo aaaaaaaaaaaaaaa; done", {.output_bytes = 65536});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_THAT(collected->text, SizeIs(65536));
  EXPECT_TRUE(collected->is_cut);
  EXPECT_THAT(std::string(collected->end.message()), HasSubstr("wrote more"));
}

TEST_F(Collectors, HaveNoMoreMemoryThanTheyMay) {
  StartTarget();
  const absl::StatusOr<Collected> collected = Shell(
      "head -c 300000000 /dev/zero | tail -c 300000000 | sleep 71719", {.memory_bytes = 32 << 20});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_THAT(std::string(collected->end.message()), HasSubstr("more memory"));
  EXPECT_EQ(CountOf("sleep 71719"), 0);
}

TEST_F(Collectors, SayHowTheyEnd) {
  StartTarget();
  const absl::StatusOr<Collected> failed = Shell("echo text >&2; exit 3");
  ASSERT_TRUE(failed.ok()) << failed.status();
  EXPECT_EQ(failed->text, "text\n");
  EXPECT_EQ(failed->end.message(), "ended with code 3");
  const absl::StatusOr<Collected> killed = Shell("kill -9 $$");
  ASSERT_TRUE(killed.ok()) << killed.status();
  EXPECT_EQ(killed->end.message(), "ended by signal 9");
  const absl::StatusOr<Collected> missing = Run({.exec = {"/no/such/program"}});
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("No such file"));
}

TEST_F(Collectors, LookAtTheNameOnceMore) {
  StartTarget();
  EXPECT_TRUE(Shell("echo", {.command = "target"}).ok());
  EXPECT_EQ(Shell("echo", {.command = "java"}).status().message(), "the process has another name");
}

TEST_F(Collectors, AProcessThatIsGoneSaysSo) {
  target_ = fork();
  if (target_ == 0) _exit(0);
  waitpid(target_, nullptr, 0);
  const absl::StatusOr<Collected> collected = Shell("echo");
  target_ = -1;
  EXPECT_FALSE(collected.ok());
}

}  // namespace
}  // namespace stackray
