// Budgets on a live kernel: what is given up comes in the documented order, samples keep their
// weight, BPF memory goes back to the kernel, and all of it returns.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/daemon/envelope_keeper.h"
#include "agent/daemon/page_source.h"
#include "agent/sampling/session_settings.h"
#include "kernel/wall_clock.h"
#include "reporter/check.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr uint32_t kFrequencyHz = 1584;  // A sixteenth, 99 Hz, is not in step with the scheduler.
constexpr EnvelopeTimings kTimings{
    .cpu_window_ns = 4'000'000'000, .short_window_ns = 500'000'000, .calm_ns = 1'000'000'000};
constexpr std::chrono::seconds kLimit{50};  // Of waiting for something.
constexpr std::chrono::seconds kMeasureLimit{
    20};  // On a host without a CPU to spare fewer samples must do.

uint64_t CpuNsOf(uint32_t pid) {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0) return 0;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// An agent's loop with short waits, and what its batches say of one process.
class KeptSession {
 public:
  explicit KeptSession(uint32_t pid) : pid_(pid) {}

  absl::Status Start() {
    settings_.sampling.frequency_hz = kFrequencyHz;
    settings_.sampling.types = {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu};
    SetBudgets(0, 0, 0);
    absl::StatusOr<std::unique_ptr<SamplingSession>> session =
        SamplingSession::Create(MakeSessionSettings(settings_.sampling, settings_.target),
                                [this](const SealedBatchPtr& batch) { Keep(*batch); });
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    session_->sampler().targets().AddHost(0);
    absl::Status status = session_->Start();
    if (status.ok()) Configure();
    return status;
  }

  void SetBudgets(uint64_t resident, uint64_t bpf, double cpu_percent) {
    settings_.memory_budget_bytes = resident;
    settings_.bpf_memory_budget_bytes = bpf;
    settings_.cpu_budget_percent = cpu_percent;
    if (session_ != nullptr) Configure();
  }
  void Configure() { keeper_.Configure(settings_, *session_, history_); }

  // Until `done`, or the limit; then everything that was sampled is in batches. False: it was the
  // limit.
  bool Run(const std::function<bool()>& done, std::chrono::seconds limit = kLimit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    bool is_done = false;
    while (!(is_done = done()) && std::chrono::steady_clock::now() < until) {
      session_->Turn(20);
      keeper_.Look(BootTimeNs(), 0, *session_, history_);
      const StepLevels& levels = keeper_.status().levels;
      if (seen_levels_.empty() || seen_levels_.back() != levels) seen_levels_.push_back(levels);
      most_map_bytes_ = std::max(most_map_bytes_, session_->map_bytes());
    }
    for (int i = 0; i < 5; ++i) session_->Turn(10);
    cpu_ns_ = CpuNsOf(pid_);
    session_->Seal();
    return is_done;
  }
  // So much CPU time of the process, whatever else this host does. Its CPU time and what the
  // samples say of it.
  struct Phase {
    double cpu_seconds = 0, sampled_seconds = 0;
    uint64_t samples = 0;
    std::set<double> periods_ns;
  };
  Phase Measure(
      double cpu_seconds, const std::function<void()>& meanwhile = [] {}) {
    Run([] { return true; });  // What is in the ring belongs to the phase before.
    phase_ = {};
    const uint64_t began = cpu_ns_;
    Run(
        [&] {
          meanwhile();
          return static_cast<double>(CpuNsOf(pid_) - began) / 1e9 >= cpu_seconds;
        },
        kMeasureLimit);
    phase_.cpu_seconds = static_cast<double>(cpu_ns_ - began) / 1e9;
    return phase_;
  }

  // Seconds of this thread.
  double CpuOfLooks(int looks) {
    const auto now = [] {
      timespec time = {};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
    };
    const double began = now();
    for (int i = 1; i <= looks; ++i)
      keeper_.Look(BootTimeNs() + static_cast<uint64_t>(i) * 1'000'000'000, 0, *session_, history_);
    return now() - began;
  }

  const EnvelopeStatus& status() const { return keeper_.status(); }
  SamplingSession& session() { return *session_; }
  const std::vector<StepLevels>& seen_levels() const { return seen_levels_; }
  void ForgetMost() { most_map_bytes_ = 0; }
  uint64_t most_map_bytes() const { return most_map_bytes_; }
  void Stop() { session_->Stop(); }

 private:
  void Keep(const SealedBatch& sealed) {
    EXPECT_TRUE(CheckBatch(sealed.bytes).empty());
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed.bytes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const DecodedSample& sample : batch->samples) {
      const DecodedResource& resource = batch->resources[static_cast<size_t>(sample.resource)];
      if (resource.Find("process.pid") != fmt::format("{}", pid_)) continue;
      if (sample.period_ns == 0) continue;  // A wait.
      phase_.samples += static_cast<uint64_t>(sample.count);
      phase_.sampled_seconds += static_cast<double>(sample.count) * sample.period_ns / 1e9;
      phase_.periods_ns.insert(sample.period_ns);
    }
  }

  const uint32_t pid_;
  AgentSettings settings_;
  SnapshotBoard board_;
  HistoryPageSource page_{board_};
  LocalHistory history_{page_};
  EnvelopeKeeper keeper_{kTimings};
  std::unique_ptr<SamplingSession> session_;
  Phase phase_;
  uint64_t cpu_ns_ = 0;  // Of the process, when all samples had been taken last.
  std::vector<StepLevels> seen_levels_;
  uint64_t most_map_bytes_ = 0;
};

// A wrong period would be wrong by a factor of two at least.
void ExpectSameTime(const char* when, const KeptSession::Phase& phase) {
  const double ratio = phase.sampled_seconds / phase.cpu_seconds;
  Measured(fmt::format("{}: {:.2f} s of CPU, {} samples say {:.2f} s ({:.3f})", when,
                       phase.cpu_seconds, phase.samples, phase.sampled_seconds, ratio));
  ASSERT_GT(phase.samples, 0u);
  EXPECT_NEAR(ratio, 1, 0.1 + 4 / std::sqrt(static_cast<double>(phase.samples))) << when;
}

size_t FirstWith(const std::vector<StepLevels>& all, EnvelopeStep step) {
  const auto found = std::ranges::find_if(
      all, [&](const StepLevels& levels) { return levels[static_cast<size_t>(step)] > 0; });
  return static_cast<size_t>(found - all.begin());
}

TEST(EnvelopeLive, GivesUpInOrderKeepsWeightsAndRecovers) {
  const TargetProgram program = TargetProgram::Start({ProgramPath("spin")});
  ASSERT_NE(program.pid(), 0u);
  KeptSession kept(program.pid());
  if (absl::Status status = kept.Start(); !status.ok()) GTEST_SKIP() << "no BPF here: " << status;

  ExpectSameTime("before", kept.Measure(1.5));
  EXPECT_EQ(kept.status().levels, StepLevels{});

  kept.SetBudgets(16 * kMiB, kept.session().fixed_map_bytes() + 6 * kMiB, 0.05);
  const StepLevels all_of_it = {3, 0, 1, 4, 1, 0};
  ASSERT_TRUE(kept.Run([&] {
    return kept.status().levels == all_of_it && kept.status().exhausted;
  })) << testing::PrintToString(kept.status().levels);
  ASSERT_TRUE(kept.Run([&] {  // The table writer needs a moment.
    return kept.session().map_bytes() <= kept.session().fixed_map_bytes() + 3 * kMiB + 16'384;
  })) << kept.session().map_bytes();
  EXPECT_EQ(kept.session().limits().frequency_hz, kFrequencyHz / 16);
  EXPECT_EQ(kept.session().limits().off_cpu_rate, 200u / 16);
  EXPECT_LT(FirstWith(kept.seen_levels(), EnvelopeStep::kUnwindTables),
            FirstWith(kept.seen_levels(), EnvelopeStep::kNameCaches));
  EXPECT_LE(FirstWith(kept.seen_levels(), EnvelopeStep::kFramePointers),
            FirstWith(kept.seen_levels(), EnvelopeStep::kFrequency));

  kept.ForgetMost();
  const KeptSession::Phase low = kept.Measure(3);
  ExpectSameTime("with everything given up", low);
  EXPECT_EQ(low.periods_ns, (std::set<double>{std::round(1e9 * 16 / kFrequencyHz)}));
  EXPECT_LE(kept.most_map_bytes(), kept.status().budgets.bpf_bytes);

  kept.SetBudgets(4096 * kMiB, 0, 400);
  EXPECT_TRUE(kept.Run([&] { return kept.status().levels == StepLevels{}; }))
      << testing::PrintToString(kept.status().levels);
  EXPECT_FALSE(kept.status().exhausted);
  EXPECT_EQ(kept.session().limits().frequency_hz, kFrequencyHz);
  EXPECT_EQ(kept.session().limits().off_cpu_rate, 200u);
  ExpectSameTime("after", kept.Measure(1.5));
  kept.Stop();
}

// The rate changes again and again in the midst of sampling, faster than batches are sealed.
TEST(EnvelopeLive, WeightsAreRightAcrossManyChangesOfTheRate) {
  const TargetProgram program = TargetProgram::Start({ProgramPath("spin")});
  ASSERT_NE(program.pid(), 0u);
  KeptSession kept(program.pid());
  if (absl::Status status = kept.Start(); !status.ok()) GTEST_SKIP() << "no BPF here: " << status;
  kept.Run([] { return true; });
  SessionLimits limits = kept.session().limits();
  int changes = 0;
  auto next = std::chrono::steady_clock::now();
  const KeptSession::Phase phase = kept.Measure(3, [&] {
    if (std::chrono::steady_clock::now() < next) return;
    next += std::chrono::milliseconds(100);
    limits.frequency_hz = FrequencyAt(++changes % 4, kFrequencyHz);
    EXPECT_TRUE(kept.session().Limit(limits).ok());
  });
  EXPECT_GE(changes, 20);
  EXPECT_EQ(phase.periods_ns.size(), 4u);
  ExpectSameTime("across changes", phase);
  kept.Stop();
}

// A look is taken once a second, for ever.
TEST(EnvelopeLive, LookingCostsNextToNothing) {
  KeptSession kept(1);
  if (absl::Status status = kept.Start(); !status.ok()) GTEST_SKIP() << "no BPF here: " << status;
  kept.SetBudgets(4096 * kMiB, 4096 * kMiB, 10'000);
  constexpr int kLooks = 1000;
  const double us = kept.CpuOfLooks(kLooks) / kLooks * 1e6;
  Measured(fmt::format("a look at the budgets: {:.1f} us of CPU", us));
  EXPECT_LT(us, 1000);
  kept.Stop();
}

// The row store's memory goes back to the kernel, and comes again.
TEST(EnvelopeLive, ReleasedChunksGoBackToTheKernel) {
  absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::Create({});
  if (!sampler.ok()) GTEST_SKIP() << "no BPF here: " << sampler.status();
  RowStore store((*sampler)->row_memory(), 8 * kMiB);
  const FileIdentity file{.inode = 1, .device = 1, .size_bytes = 1};
  ASSERT_TRUE(store.AddFile(file, {.first_page = 0, .page_count = 4000}).ok());
  const std::vector<uint8_t> page(32'000, 0x5a);
  const auto fill = [&](uint32_t first) {
    for (uint32_t i = first; i < first + 400; ++i) ASSERT_TRUE(store.PutPage(file, i, page).ok());
  };
  const uint64_t fixed = (*sampler)->FixedMapBytes();
  // One chunk is always made ahead, by a thread.
  const auto chunks_become = [&](uint64_t wanted) {
    const auto until = std::chrono::steady_clock::now() + kLimit;
    uint64_t chunks = 0;
    while ((chunks = ((*sampler)->MapBytes() - fixed) / kMiB) != wanted &&
           std::chrono::steady_clock::now() < until) {
    }
    return chunks;
  };
  for (uint32_t round = 0; round < 5; ++round) {
    store.SetBudget(8 * kMiB);
    fill(round * 700);
    EXPECT_EQ(chunks_become(9), 9u);
    store.SetBudget(2 * kMiB);
    while (store.ShrinkOne()) continue;
    EXPECT_EQ(chunks_become(3), 3u);
  }
}

}  // namespace
}  // namespace stackray::test
