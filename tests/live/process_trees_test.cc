// Whom `-p` means: a process and all its descendants, those from before the start too, and nobody
// else.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/sampling/targets.h"
#include "kernel/process_tree.h"
#include "tests/live/process_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 20'000;
constexpr double kBurnMs = 60'000;

// Numbers that processes hand up to the test.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void Put(pid_t pid) const { (void)!write(ends_[1], &pid, sizeof(pid)); }
  pid_t Take() const {
    pid_t pid = 0;
    return read(ends_[0], &pid, sizeof(pid)) == sizeof(pid) ? pid : -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// A process that waits and has a child with a busy child of its own.
struct Family {
  pid_t master = 0, busy = 0;
};

Family StartFamily() {
  const Pipe pipe;
  const pid_t master = fork();
  if (master == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const pid_t busy = ForkBurning(kBurnMs);
      pipe.Put(busy);
      pause();
    }
    pause();
  }
  return {.master = master, .busy = pipe.Take()};
}

class Session {
 public:
  Session(uint32_t pid, bool inherit) {
    target_ = {.kind = TargetKind::kPids, .pids = {pid}, .inherit = inherit};
    SessionSettings settings;
    settings.sampler.frequency_hz = kFrequencyHz;
    settings.sampler.target_pids = kMostTargetPids;
    settings.loop.batch.frequency_hz = kFrequencyHz;
    auto made = SamplingSession::Create(settings, [this](const SealedBatchPtr& sealed) {
      if (const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed->bytes); batch.ok())
        Count(*batch);
    });
    status_ = made.status();
    if (made.ok()) session_ = *std::move(made);
    if (status_.ok()) status_ = ApplyTarget(target_, session_->sampler());
  }
  ~Session() {
    if (session_ != nullptr) session_->Stop();
  }
  absl::Status Start() { return session_->Start(); }
  const absl::Status& status() const { return status_; }
  bool Ended() const { return AllTargetsEnded(target_, session_->sampler()); }
  uint64_t samples() {
    session_->Turn(20);
    return session_->loop().counts().samples;
  }
  // Of one process, by the batches so far.
  int64_t SamplesOf(pid_t pid) {
    session_->Turn(0);
    session_->Seal();
    return by_pid_[std::to_string(pid)];
  }

 private:
  void Count(const DecodedBatch& batch) {
    for (const DecodedSample& sample : batch.samples) {
      const DecodedResource& resource = batch.resources[static_cast<size_t>(sample.resource)];
      by_pid_[resource.Find("process.pid")] += sample.count;
    }
  }

  std::map<std::string, int64_t> by_pid_;
  TargetSettings target_;
  absl::Status status_;
  std::unique_ptr<SamplingSession> session_;
};

bool Within(int timeout_ms, const std::function<bool()>& done) {
  for (int waited = 0; waited < timeout_ms; waited += 20) {
    if (done()) return true;
    usleep(20'000);
  }
  return false;
}

TEST(ProcessTree, DescendantsFromBeforeTheStartAreSampledUntilTheLastHasEnded) {
  const Family family = StartFamily();
  Session session(static_cast<uint32_t>(family.master), /*inherit=*/true);
  if (!session.status().ok()) GTEST_SKIP() << session.status();
  ASSERT_TRUE(session.Start().ok());
  EXPECT_TRUE(Within(kTimeoutMs, [&] { return session.samples() > 10; }));
  // The master ends first, and the others go on.
  const std::vector<uint32_t> roots = {static_cast<uint32_t>(family.master)};
  const std::vector<ListedProcess> tree = SelectTree(ListLivingProcesses(), roots);
  EXPECT_EQ(tree.size(), 3u);
  kill(family.busy, SIGKILL);
  EXPECT_FALSE(session.Ended());
  kill(family.master, SIGKILL);
  Reap(family.master);
  EXPECT_TRUE(Within(kTimeoutMs, [&] { return session.Ended(); }));
}

TEST(ProcessTree, WithoutInheritanceOneProcessIsMeant) {
  const Family family = StartFamily();
  Session session(static_cast<uint32_t>(family.master), /*inherit=*/false);
  if (!session.status().ok()) GTEST_SKIP() << session.status();
  ASSERT_TRUE(session.Start().ok());
  EXPECT_FALSE(Within(500, [&] { return session.samples() > 0; }));
  EXPECT_FALSE(session.Ended());
  kill(family.master, SIGKILL);
  Reap(family.master);
  EXPECT_TRUE(Within(kTimeoutMs, [&] { return session.Ended(); }));
}

TEST(ProcessTree, AProcessThatEndsBeforeTheStartIsForgotten) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  Session session(static_cast<uint32_t>(child), /*inherit=*/true);
  if (!session.status().ok()) GTEST_SKIP() << session.status();
  kill(child, SIGKILL);  // And nobody waits for it yet: kill() still finds it.
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  ASSERT_TRUE(session.Start().ok());
  EXPECT_TRUE(session.Ended());
  Reap(child);
}

// Says its pid, waits for its turn, burns some time, says that it has.
void WaitAndBurn(const Pipe& pids, const Pipe& turns) {
  constexpr double kOwnBurnMs = 25;
  pids.Put(getpid());
  turns.Take();
  ChildBurn(kOwnBurnMs);
  pids.Put(getpid());
  pause();
}

// Forks one child after the other, each of which forks one more.
pid_t StartForks(int children, const Pipe& pids, const Pipe& turns) {
  const pid_t root = fork();
  if (root != 0) return root;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < children; ++i) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      usleep(500);
      if (fork() == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
      WaitAndBurn(pids, turns);
    }
    usleep(300);
  }
  for (;;) pause();
}

// All wait when the session has started; then each burns some time, and each must have been
// sampled.
TEST(ProcessTree, NoneIsMissedThatIsForkedDuringTheStart) {
  constexpr int kChildren = 40;
  const Pipe pids, turns;
  Session session(static_cast<uint32_t>(getpid()), /*inherit=*/true);
  if (!session.status().ok()) GTEST_SKIP() << session.status();
  const pid_t root = StartForks(kChildren, pids, turns);
  const absl::Status started = session.Start();
  std::vector<pid_t> all;
  for (int i = 0; i < 2 * kChildren; ++i) all.push_back(pids.Take());
  for (size_t i = 0; i < all.size(); ++i) {
    turns.Put(1);
    pids.Take();
    session.samples();
  }
  EXPECT_TRUE(started.ok()) << started;
  for (const pid_t pid : all) EXPECT_GT(session.SamplesOf(pid), 0) << pid;
  kill(root, SIGKILL);
  Reap(root);
}

}  // namespace
}  // namespace stackray::test
