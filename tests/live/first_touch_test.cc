// The very first sample of a program, for which no table is loaded: user space finishes the walk, with the stack that
// the sample brought along, however large that is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/sampling/markers.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr int kRuns = 5;
constexpr int kDescents = 12;  // deep_stack's frames of 50 KB.

class DeepStack : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(DeepStack, IsWholeInTheFirstSample) {
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::string> argv = {ProgramPath("deep_stack")};
    argv.insert(argv.end(), GetParam().begin(), GetParam().end());
    const TargetProgram program = TargetProgram::Start(argv);
    ASSERT_NE(program.pid(), 0u);
    usleep(100'000);  // It has come to its work.
    const auto stacks = RawStacks::Start(kFrequencyHz, program.pid());
    if (!stacks.ok()) GTEST_SKIP() << stacks.status();
    const std::optional<RawStack> first = (*stacks)->StopAtSample(kStopTimeoutMs);
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(first->finished_here) << "run " << run;
    EXPECT_TRUE(IsCompleteEnd(first->end)) << "run " << run << ": " << EndName(first->end);
    const auto descents = std::ranges::count_if(first->frames, [](const RawFrame& frame) {
      return frame.name.find("Descend") != std::string::npos;
    });
    EXPECT_EQ(descents, kDescents) << "run " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(FirstTouch, DeepStack,
                         testing::Values(std::vector<std::string>{},
                                         std::vector<std::string>{"in a thread"}),
                         [](const auto& instance) {
                           return std::string(instance.param.empty() ? "main" : "thread");
                         });

}  // namespace
}  // namespace stackray::test
