// A process that publishes its context while it is sampled, changes it, and forks: what each batch
// says of it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/live/process_run.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr int kTimeoutMs = 60'000;
constexpr double kFrequencyHz = 99;

class PublishedContext : public testing::Test {
 protected:
  // A session, and the program with an environment that names a service too.
  void Start(const char* kind, const char* fork) {
    absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(kFrequencyHz);
    if (!run.ok()) GTEST_SKIP() << run.status();
    run_ = *std::move(run);
    pid_ = StartProgram({ProgramPath("context_publisher"), kind, fork},
                        {"OTEL_SERVICE_NAME=from-environment",
                         "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=of-env,only.env=yes"});
    ASSERT_TRUE(run_->Until(kTimeoutMs, [&] { return CommandOf(pid_) == "ready"; }));
  }
  void TearDown() override {
    if (child_ > 0) kill(child_, SIGKILL);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    Reap(pid_);
  }

  static std::string CommandOf(pid_t pid) { return ReadText(fmt::format("/proc/{}/comm", pid)); }

  // Has it publish, and waits until it has. False: it cannot on this kernel.
  bool Publish(int number) {
    kill(pid_, SIGUSR1);
    const std::string done = fmt::format("published-{}", number);
    EXPECT_TRUE(run_->Until(kTimeoutMs, [&] {
      const std::string command = CommandOf(pid_);
      return command == done || command == "cannot";
    }));
    return CommandOf(pid_) == done;
  }

  // The last batch that has it, of those that began after now.
  SeenProcess NextOf(pid_t pid) {
    run_->Seal();
    const size_t before = run_->Of(pid).size();
    EXPECT_TRUE(run_->Until(kTimeoutMs, [&] {
      run_->Seal();
      return run_->Of(pid).size() > before;
    }));
    const std::vector<SeenProcess> all = run_->Of(pid);
    return all.empty() ? SeenProcess() : all.back();
  }
  // Batches until one of them calls its service so.
  bool IsCalled(pid_t pid, const std::string& service) {
    return run_->Until(kTimeoutMs, [&] { return NextOf(pid).service_name == service; });
  }
  void ExpectContext(const SeenProcess& process, int number) {
    EXPECT_EQ(process.service_name, fmt::format("context-{}", number));
    EXPECT_EQ(process.resource.Find("service.instance.id"), fmt::format("id-{}", number));
    EXPECT_EQ(process.resource.Find("only.context"), "yes");
    EXPECT_EQ(process.resource.Find("only.env"), "yes");
  }
  void ExpectEnvironment(const SeenProcess& process) {
    EXPECT_EQ(process.service_name, "from-environment");
    EXPECT_EQ(process.resource.Find("service.instance.id"), "of-env");
    EXPECT_EQ(process.resource.Find("only.context"), "");
    EXPECT_EQ(process.resource.Find("only.env"), "yes");
  }
  // A child of it, and batches until it has lived for more than two seconds.
  void Fork() {
    kill(pid_, SIGUSR2);
    const std::string children = fmt::format("/proc/{0}/task/{0}/children", pid_);
    ASSERT_TRUE(run_->Until(kTimeoutMs, [&] {
      child_ = atoi(ReadText(children).c_str());
      return child_ > 0 && CommandOf(child_) == "child";
    }));
    (void)run_->Until(2'500, [] { return false; });
  }

  std::unique_ptr<ProcessRun> run_;
  pid_t pid_ = 0, child_ = 0;
};

TEST_F(PublishedContext, IsInEveryBatchOnceItIsPublished) {
  ASSERT_NO_FATAL_FAILURE(Start("memfd", "dont"));
  if (IsSkipped()) return;
  ExpectEnvironment(NextOf(pid_));
  ASSERT_TRUE(Publish(1));
  ASSERT_TRUE(IsCalled(pid_, "context-1"));
  for (int i = 0; i < 3; ++i) ExpectContext(NextOf(pid_), 1);
  // A change is in the next batch that begins.
  for (int number = 2; number < 6; ++number) {
    ASSERT_TRUE(Publish(number));
    ExpectContext(NextOf(pid_), number);
  }
}

TEST_F(PublishedContext, InANamedAnonymousMapping) {
  ASSERT_NO_FATAL_FAILURE(Start("anon", "dont"));
  if (IsSkipped()) return;
  if (!Publish(1)) GTEST_SKIP() << "this kernel names no anonymous mappings (CONFIG_ANON_VMA_NAME)";
  ASSERT_TRUE(IsCalled(pid_, "context-1"));
  ExpectContext(NextOf(pid_), 1);
}

TEST_F(PublishedContext, AChildWithoutTheMappingHasNone) {
  ASSERT_NO_FATAL_FAILURE(Start("memfd", "dont"));
  if (IsSkipped()) return;
  ASSERT_TRUE(Publish(1));
  ASSERT_TRUE(IsCalled(pid_, "context-1"));
  ASSERT_NO_FATAL_FAILURE(Fork());
  ExpectEnvironment(NextOf(child_));
  ExpectEnvironment(NextOf(child_));
  ExpectContext(NextOf(pid_), 1);
}

TEST_F(PublishedContext, AChildWithTheMappingHasIt) {
  ASSERT_NO_FATAL_FAILURE(Start("memfd", "keep"));
  if (IsSkipped()) return;
  ASSERT_TRUE(Publish(1));
  ASSERT_NO_FATAL_FAILURE(Fork());
  ASSERT_TRUE(IsCalled(child_, "context-1"));
  // What the parent says from now on is the parent's.
  ASSERT_TRUE(Publish(2));
  ASSERT_TRUE(IsCalled(pid_, "context-2"));
  ExpectContext(NextOf(child_), 1);
}

}  // namespace
}  // namespace stackray::test
