// A CPU that goes away and comes back while samples are taken: its clock goes and comes with it.
// Takes CPU 1 of this machine away for some seconds, so it is one of the long proofs, and gives it
// back whatever happens in between.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 199;
constexpr int kCpu = 1;
constexpr char kOnline[] = "/sys/devices/system/cpu/cpu1/online";
constexpr int kFollowMs = 2'500;  // A session looks once a second.
constexpr int kPhaseMs = 3'000;

bool SetOnline(bool online) {
  std::ofstream file(kOnline);
  file << (online ? "1" : "0") << std::flush;
  return file.good();
}

struct BackOnline {
  ~BackOnline() { SetOnline(true); }
};

bool PinTo(uint32_t pid, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(static_cast<pid_t>(pid), sizeof(set), &set) == 0;
}

class CpuHotplug : public testing::Test {
 protected:
  // Of the samples that are due for what the program computes from here on, the share that comes.
  double ShareOfSamples(const std::string& what) {
    const uint64_t samples = run_->with_user_stack();
    const double seconds = CpuSecondsOf(program_.pid());
    run_->Run(kPhaseMs);
    const double computed = CpuSecondsOf(program_.pid()) - seconds;
    const uint64_t taken = run_->with_user_stack() - samples;
    const double share = static_cast<double>(taken) / (computed * kFrequencyHz);
    Measured(
        fmt::format("{}: {} samples of {:.2f} s, {:.1f} %", what, taken, computed, 100 * share));
    EXPECT_GT(computed, kPhaseMs / 1000.0 / 4) << "the program hardly ran";
    return share;
  }

  TargetProgram program_ = TargetProgram::Start({ProgramPath("spin")});
  std::unique_ptr<SampledRun> run_;
};

TEST_F(CpuHotplug, ClockGoesAndComesWithItsCpu) {
  if (access(kOnline, W_OK) != 0) GTEST_SKIP() << "CPU 1 of this machine cannot be taken away";
  absl::StatusOr<std::unique_ptr<SampledRun>> run =
      SampledRun::Start(kFrequencyHz, {program_.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  run_ = *std::move(run);
  const BackOnline back_online;

  ASSERT_TRUE(PinTo(program_.pid(), kCpu));
  EXPECT_GT(ShareOfSamples("on CPU 1"), 0.9);
  ASSERT_TRUE(SetOnline(false));  // The kernel moves the program.
  EXPECT_GT(ShareOfSamples("CPU 1 is away"), 0.9);
  ASSERT_TRUE(SetOnline(true));
  ASSERT_TRUE(PinTo(program_.pid(), kCpu));
  run_->Run(kFollowMs);
  EXPECT_GT(ShareOfSamples("CPU 1 is back"), 0.9);
  // Away and back before anybody looked.
  ASSERT_TRUE(SetOnline(false));
  ASSERT_TRUE(SetOnline(true));
  ASSERT_TRUE(PinTo(program_.pid(), kCpu));
  run_->Run(kFollowMs);
  EXPECT_GT(ShareOfSamples("CPU 1 was away for a moment"), 0.9);
  run_->Stop();
}

}  // namespace
}  // namespace stackray::test
