// Which process a sample belongs to, and what that process is called: compared with what this test
// did and with what /proc said while the process lived.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/live/process_run.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kHz = 999;
constexpr int kTimeoutMs = 20'000;

class ProcessIdentity : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(kHz);
    if (!run.ok()) GTEST_SKIP() << run.status();
    run_ = *std::move(run);
  }
  // The batch's one resource of that pid and command.
  SeenProcess The(pid_t pid, const std::string& command) {
    SeenProcess found;
    int count = 0;
    for (const SeenProcess& process : run_->Of(pid)) {
      if (process.command != command) continue;
      found = process;
      ++count;
    }
    EXPECT_EQ(count, 1) << "pid " << pid << " as " << command;
    return found;
  }
  const std::string program_ = ProgramPath("process_cases");
  const std::string own_command_ = OwnCommand();
  std::unique_ptr<ProcessRun> run_;
};

TEST_F(ProcessIdentity, AForkWithoutExecIsItsParentsProgram) {
  const pid_t child = ForkBurning(100);
  Reap(child);  // Gone before the first look at the ring.
  run_->Seal();
  const SeenProcess process = The(child, own_command_);
  EXPECT_EQ(process.path, OwnPath());
  EXPECT_TRUE(process.functions.contains(kChildFunction));
}

TEST_F(ProcessIdentity, AnExecRenamesAtOnce) {
  const pid_t child = ForkBurning(60, [&] { Exec({program_, "burn", "60000"}); });
  // Functions have names while somebody can open the file: the program lives until it was sampled.
  EXPECT_TRUE(run_->Until(kTimeoutMs, [&] {
    return ReadText(fmt::format("/proc/{}/comm", child)) == "process_cases";
  }));
  const uint64_t enough = run_->session().loop().counts().samples + 100;
  const auto has_enough = [&] { return run_->session().loop().counts().samples >= enough; };
  EXPECT_TRUE(run_->Until(kTimeoutMs, has_enough));
  run_->Seal();
  kill(child, SIGKILL);
  Reap(child);
  const SeenProcess before = The(child, own_command_), after = The(child, "process_cases");
  EXPECT_EQ(before.path, OwnPath());
  EXPECT_EQ(after.path, program_);
  EXPECT_EQ(before.created, after.created);
  EXPECT_TRUE(before.functions.contains(kChildFunction));
  EXPECT_FALSE(before.functions.contains("BurnLeaf"));
  EXPECT_TRUE(after.functions.contains("BurnLeaf"));
  EXPECT_FALSE(after.functions.contains(kChildFunction));
  EXPECT_EQ(run_->Of(child).size(), 2u);
}

// The child runs in this test's memory until its exec, and is another process all the same.
TEST_F(ProcessIdentity, AVforkedChildIsItselfBeforeItsExec) {
  const std::string text = program_;
  char* const argv[] = {const_cast<char*>(text.c_str()), const_cast<char*>("burn"),
                        const_cast<char*>("60"), nullptr};
  const pid_t child = vfork();
  if (child == 0) {
    ChildBurn(60);
    execv(argv[0], argv);
    _exit(1);
  }
  Reap(child);
  run_->Seal();
  EXPECT_EQ(The(child, own_command_).path, OwnPath());
  EXPECT_EQ(The(child, "process_cases").path, program_);
}

TEST_F(ProcessIdentity, AThreadThatExecsIsItsProcess) {
  const pid_t child = ForkBurning(0, [&] {
    std::thread([&] {
      ChildBurn(40);
      Exec({program_, "burn", "60"});
    }).join();
  });
  Reap(child);
  run_->Seal();
  const SeenProcess before = The(child, own_command_), after = The(child, "process_cases");
  EXPECT_EQ(after.path, program_);
  EXPECT_EQ(before.created, after.created);
}

// Threads go on when their leader ends; their process keeps its name, in the next batches too.
TEST_F(ProcessIdentity, ALeaderThatEndsFirstTakesNothingAlong) {
  const pid_t child = StartProgram({program_, "leader", "4000"});
  ASSERT_TRUE(run_->Until(kTimeoutMs, [&] {
    return StatusLine(child, "State").find('Z') != std::string::npos &&
           StatusLine(child, "Threads") == "\t3";
  })) << StatusLine(child, "State");
  run_->Seal();  // What was sampled before.
  const size_t before = run_->Of(child).size();
  const uint64_t enough = run_->session().loop().counts().samples + 200;
  const auto has_enough = [&] { return run_->session().loop().counts().samples >= enough; };
  EXPECT_TRUE(run_->Until(kTimeoutMs, has_enough));
  run_->Seal();
  ASSERT_GT(run_->Of(child).size(), before);
  const SeenProcess process = run_->Of(child).back();
  EXPECT_EQ(process.command, "leader-gone");
  EXPECT_EQ(process.path, program_);
  EXPECT_EQ(process.thread_names, (std::set<std::string>{"worker-a", "worker-b"}));
  kill(child, SIGKILL);
  Reap(child);
}

// A child under a pid of our choice; 0: this kernel does not allow it.
pid_t ForkAs(pid_t pid) {
  clone_args args = {};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<uint64_t>(&pid);
  args.set_tid_size = 1;
  const long child = syscall(SYS_clone3, &args, sizeof(args));
  return child < 0 ? -1 : static_cast<pid_t>(child);
}

TEST_F(ProcessIdentity, AReusedPidIsTwoProcessesOfOneBatch) {
  // No allocation in the children: clone3 without the C library leaves its locks as they were.
  char* const argv[] = {const_cast<char*>(program_.c_str()), const_cast<char*>("burn"),
                        const_cast<char*>("60"), nullptr};
  pid_t pid = std::stoi(ReadText("/proc/sys/kernel/pid_max")) - 2;
  while (kill(pid, 0) == 0) --pid;
  for (int round = 0; round < 2; ++round) {
    const pid_t child = ForkAs(pid);
    if (child == 0) {
      ChildBurn(60);
      if (round == 1) execv(argv[0], argv);
      _exit(0);
    }
    if (child < 0) GTEST_SKIP() << "clone3 with set_tid is not allowed here";
    ASSERT_EQ(child, pid);
    Reap(child);
  }
  run_->Seal();
  std::map<std::string, std::set<std::string>> commands;  // By creation time.
  for (const SeenProcess& process : run_->Of(pid)) {
    EXPECT_EQ(process.batch, 0u);
    EXPECT_EQ(process.path, process.command == own_command_ ? OwnPath() : program_);
    commands[process.created].insert(process.command);
  }
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands.begin()->second, std::set<std::string>{own_command_});
  EXPECT_EQ(commands.rbegin()->second, (std::set<std::string>{own_command_, "process_cases"}));
}

// Two levels of pid namespaces down, where every process is number 1.
TEST_F(ProcessIdentity, ANestedPidNamespaceDoesNotHideTheHostsPid) {
  const pid_t outer = ForkBurning(0, [&] {
    if (unshare(CLONE_NEWPID) != 0) _exit(1);
    const pid_t middle = ForkBurning(0, [&] {
      if (unshare(CLONE_NEWPID) != 0) _exit(1);
      Reap(ForkBurning(60'000));
    });
    Reap(middle);
  });
  const auto child_of = [](pid_t pid) {
    const std::string children = ReadText(fmt::format("/proc/{0}/task/{0}/children", pid));
    return children.empty() ? 0 : std::stoi(children);
  };
  pid_t inner = 0;
  const auto has_inner = [&] {
    const pid_t middle = child_of(outer);
    inner = middle == 0 ? 0 : child_of(middle);
    return inner != 0;
  };
  if (!run_->Until(5'000, has_inner)) GTEST_SKIP() << "no pid namespaces here";
  EXPECT_EQ(StatusLine(inner, "NSpid"), fmt::format("\t{}\t2\t1", inner));
  // setns into it: the child is born there, seen under the host's pid all the same.
  const std::string its_namespace = fmt::format("/proc/{}/ns/pid", inner);
  const pid_t joining = ForkBurning(0, [&] {
    const int fd = open(its_namespace.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWPID) != 0) _exit(1);
    Reap(ForkBurning(300));
  });
  pid_t joined = 0;
  EXPECT_TRUE(run_->Until(5'000, [&] { return (joined = child_of(joining)) != 0; }));
  const std::string joined_pids = StatusLine(joined, "NSpid");
  Reap(joining);
  kill(inner, SIGKILL);
  Reap(outer);
  run_->Seal();
  for (const pid_t pid : {inner, joined}) {
    const SeenProcess process = The(pid, own_command_);
    EXPECT_EQ(process.path, OwnPath());
    EXPECT_TRUE(process.functions.contains(kChildFunction));
  }
  EXPECT_EQ(std::count(joined_pids.begin(), joined_pids.end(), '\t'), 3) << joined_pids;
}

// Programs of 2 ms, each of its own file, all gone before the ring is looked at for the first time.
TEST_F(ProcessIdentity, TwoMillisecondProgramsAreAllNamed) {
  const TemporaryDirectory directory;
  std::map<pid_t, std::string> paths;
  constexpr int kPrograms = 40, kRuns = 300;
  for (int i = 0; i < kPrograms; ++i)
    std::filesystem::copy_file(program_, directory.File(fmt::format("brief_{}", i)));
  for (int i = 0; i < kRuns; ++i) {
    const std::string path = directory.File(fmt::format("brief_{}", i % kPrograms));
    const pid_t child = StartProgram({path, "burn", "2"});
    paths[child] = path;
    Reap(child);
  }
  run_->Seal();
  std::set<std::string> named;
  int wrong = 0;
  for (const SeenProcess& process : run_->seen()) {
    const auto started = paths.find(process.pid.empty() ? 0 : std::stoi(process.pid));
    if (started == paths.end()) continue;
    const std::string want = process.command == own_command_ ? OwnPath() : started->second;
    const bool right = process.path == want && want.ends_with("/" + process.name) &&
                       (process.command == own_command_ || process.command == process.name);
    wrong += !right;
    EXPECT_TRUE(right) << process.pid << ": " << process.command << ", " << process.path;
    if (process.command != own_command_) named.insert(process.pid);
  }
  Measured(fmt::format("2 ms programs: {} of {} sampled in their own image, {} named wrongly",
                       named.size(), kRuns, wrong));
  EXPECT_GT(named.size(), kRuns / 2u);
}

}  // namespace
}  // namespace stackray::test
