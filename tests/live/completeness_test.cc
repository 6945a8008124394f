// Stacks of a program without frame pointers, through libc's qsort: each from the leaf to _start,
// each function with the name that readelf has for its address.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/oracles/stack_oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 3000;
constexpr size_t kLeastFrames = 40;
constexpr int kTimeoutMs = 60'000;

struct Tally {
  uint64_t samples = 0, to_start = 0, at_least_40 = 0, wrong_names = 0, through_libc = 0;
  std::string first_problem;
};

void Judge(const SeenStack& stack, StackOracle& oracle, Tally* tally) {
  const auto count = static_cast<uint64_t>(stack.count);
  tally->samples += count;
  if (stack.user.size() >= kLeastFrames) tally->at_least_40 += count;
  if (!stack.user.empty() && stack.marker.empty() && oracle.IsProgramStart(stack.user.back()))
    tally->to_start += count;
  else if (tally->first_problem.empty())
    tally->first_problem =
        fmt::format("a stack of {} frames that ends with '{}'", stack.user.size(), stack.marker);
  for (size_t i = 1; i < stack.user.size(); ++i) {
    if (stack.user[i].mapping_path.find("libc.so") == std::string::npos) continue;
    tally->through_libc += count;
    break;
  }
  for (const DecodedFrame& frame : stack.user) {
    const std::string disagreement = oracle.Disagreement(frame);
    if (disagreement.empty()) continue;
    ++tally->wrong_names;
    if (tally->first_problem.empty()) tally->first_problem = disagreement;
  }
}

class Completeness : public testing::TestWithParam<const char*> {};

TEST_P(Completeness, EveryStackReachesStartWithReadelfsNames) {
  const TargetProgram program = TargetProgram::Start({ProgramPath(GetParam())});
  ASSERT_NE(program.pid(), 0u);
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kSamples);
  (*run)->Stop();

  StackOracle oracle;
  Tally tally;
  for (const SeenStack& stack : (*run)->stacks()) Judge(stack, oracle, &tally);
  const double percent =
      100.0 * static_cast<double>(tally.to_start) / static_cast<double>(tally.samples);
  Measured(fmt::format(
      "{}: {} samples at {} Hz, {:.3f} % from the leaf to _start, mean depth {:.1f}, {} frames of "
      "distinct stacks named as readelf does, {} without a name in both; ends: {}",
      GetParam(), tally.samples, kFrequencyHz, percent, (*run)->mean_depth(), oracle.named(),
      oracle.unnamed(), (*run)->Ends()));
  ASSERT_GE(tally.samples, kSamples / 2) << "too few samples to say anything";
  EXPECT_GE(percent, 99.9) << tally.first_problem;
  EXPECT_EQ(tally.wrong_names, 0u) << tally.first_problem;
  EXPECT_GE((*run)->mean_depth(), kLeastFrames);
  EXPECT_GE(tally.through_libc * 100, tally.samples * 99) << "stacks that do not pass through libc";
}

INSTANTIATE_TEST_SUITE_P(Programs, Completeness,
                         testing::Values("qsort_deep", "qsort_deep_stripped"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace stackray::test
