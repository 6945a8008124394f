// A Java thread's frames beside the JVM's own answer (jstack): class, method, line and order of
// each frame, inlined ones too. The chain of calls never changes; only the innermost method's line
// does, for the JVM answers at a safepoint and we at a tick.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 20'000;
constexpr uint64_t kWarmUpSamples = 250, kSamples = 600;

struct Mode {
  const char* name;
  std::vector<std::string> options;
};
const Mode kModes[] = {
    {"Interpreted", {"-Xint"}},
    {"C1", {"-XX:TieredStopAtLevel=1"}},
    {"C2", {"-XX:-TieredCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}},
    {"Tiered", {}},
};

// "Shapes.third:78", innermost first.
std::vector<std::string> JavaFrames(const SeenStack& stack) {
  std::vector<std::string> frames;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type != "jvm") continue;
    for (const DecodedLine& line : frame.lines)
      if (!line.system_name.empty())
        frames.push_back(fmt::format("{}:{}", line.function, line.line));
  }
  return frames;
}

// The method alone.
std::string MethodOf(const std::string& frame) { return frame.substr(0, frame.rfind(':')); }

bool Agree(const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
  if (ours.empty() || ours.size() != theirs.size() || MethodOf(ours[0]) != MethodOf(theirs[0]))
    return false;
  return std::equal(ours.begin() + 1, ours.end(), theirs.begin() + 1);
}

class HotSpotAgreement : public testing::TestWithParam<Mode> {};

TEST_P(HotSpotAgreement, EachFrameIsTheJvmsOwn) {
  const std::string classes = CompileJava("Shapes");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  for (const Jdk& jdk : FindJdks()) {
    SCOPED_TRACE(jdk.home);
    std::vector<std::string> command = {jdk.home + "/bin/java"};
    command.insert(command.end(), GetParam().options.begin(), GetParam().options.end());
    command.insert(command.end(), {"-cp", classes, "Shapes", "chain"});
    const TargetProgram program = TargetProgram::Start(command);
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    (*run)->Run(kTimeoutMs, kWarmUpSamples);
    const size_t warm_up = (*run)->stacks().size();
    (*run)->Run(kTimeoutMs, kSamples);
    (*run)->Stop();
    const std::vector<std::string> theirs = ThreadFrames(jdk, program.pid(), "main");
    ASSERT_FALSE(theirs.empty()) << "jstack has not answered";
    int64_t agreed = 0, seen = 0;
    std::string other;
    for (size_t i = warm_up; i < (*run)->stacks().size(); ++i) {
      const SeenStack& stack = (*run)->stacks()[i];
      const std::vector<std::string> ours = JavaFrames(stack);
      if (ours.empty() || MethodOf(ours.back()) != "Shapes.main") continue;
      seen += stack.count;
      if (Agree(ours, theirs))
        agreed += stack.count;
      else if (other.empty())
        for (const std::string& frame : ours) other += frame + "\n";
    }
    Measured(fmt::format("java {} {}: {} of {} stacks as jstack has them, of {} frames",
                         jdk.version, GetParam().name, agreed, seen, theirs.size()));
    EXPECT_GT(seen, 20);
    EXPECT_EQ(agreed, seen) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, HotSpotAgreement, testing::ValuesIn(kModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace stackray::test
