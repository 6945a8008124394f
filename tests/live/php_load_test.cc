// PHP programs under load, seen as a receiver sees them: whole stacks, all frames named, also of
// functions that come and go all the time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/live/php_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;

struct Seen {
  int64_t stacks = 0, rooted = 0;  // With PHP's frames; with {main} as their outermost one.
  int64_t frames = 0, unnamed = 0, stale = 0, without_line = 0, other_names = 0;
};

Seen Look(const std::vector<SeenStack>& stacks) {
  Seen seen;
  for (const SeenStack& stack : stacks) {
    std::string root;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != "php") continue;
      const DecodedLine line = frame.lines.empty() ? DecodedLine{} : frame.lines.back();
      root = line.function;
      seen.frames += stack.count;
      seen.stale += line.function == "[stale]" ? stack.count : 0;
      seen.unnamed += line.function.empty() || line.function == "[gone]" ? stack.count : 0;
      seen.without_line += !line.file.empty() && line.line <= 0 ? stack.count : 0;
      const bool is_known = line.function.starts_with("{") || line.function == "str_repeat" ||
                            line.function == "spin" || line.function == "eval";
      seen.other_names += is_known ? 0 : stack.count;
    }
    if (root.empty()) continue;
    seen.stacks += stack.count;
    seen.rooted += root == "{main}" ? stack.count : 0;
  }
  return seen;
}

class PhpLoad : public testing::TestWithParam<PhpRelease> {
 protected:
  void SetUp() override {
    interpreter_ = FindPhp(GetParam());
    if (interpreter_.empty()) GTEST_SKIP() << "no PHP " << GetParam().Name() << " here";
  }
  std::string Version() const { return "php " + GetParam().Name(); }
  void ExpectWholeStacks(const std::string& jit);
  std::vector<std::string> Command(const std::string& script, const std::string& jit = "") const {
    std::vector<std::string> command = interpreter_;
    const std::vector<std::string> options = JitOptions(jit);
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/php/" + script);
    return command;
  }
  std::vector<std::string> interpreter_;
};

// `jit`: as JitOptions() has it.
void PhpLoad::ExpectWholeStacks(const std::string& jit) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("many_shapes.php", jit));
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kWarmUpSamples);  // The first ones meet files that are new.
  const uint64_t complete = (*run)->complete(), all = (*run)->with_user_stack();
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const uint64_t now_complete = (*run)->complete() - complete;
  const uint64_t now_all = (*run)->with_user_stack() - all;
  const Seen seen = Look((*run)->stacks());
  Measured(fmt::format(
      "{}{} under load: {} of {} whole, {} of {} with {{main}} as root, of {} frames {} [stale], "
      "{} "
      "unnamed, {} without line; {}",
      Version(), jit.empty() ? "" : " " + jit, now_complete, now_all, seen.rooted, seen.stacks,
      seen.frames, seen.stale, seen.unnamed, seen.without_line, (*run)->Ends()));
  ASSERT_GT(now_all, (bounds.samples - kWarmUpSamples) / 2) << "too few samples in a minute";
  EXPECT_GE(static_cast<double>(now_complete), bounds.least_whole * static_cast<double>(now_all));
  EXPECT_GE(static_cast<double>(seen.rooted), 0.99 * static_cast<double>(seen.stacks));
  EXPECT_GE(static_cast<double>(seen.stacks), 0.95 * static_cast<double>(now_all));
  EXPECT_LE(static_cast<double>(seen.unnamed + seen.stale),
            bounds.most_stale * static_cast<double>(seen.frames));
}

TEST_P(PhpLoad, StacksAreWholeAndNamed) { ExpectWholeStacks(""); }

TEST_P(PhpLoad, WithItsTracingJit) {
  if (GetParam().major < 8) GTEST_SKIP() << "PHP 7 has no JIT";
  ExpectWholeStacks("tracing");
}

TEST_P(PhpLoad, FunctionsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.php"));
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const Seen seen = Look((*run)->stacks());
  Measured(fmt::format(
      "{} with functions that come and go: {} frames, {} [stale], {} unnamed, {} of other names",
      Version(), seen.frames, seen.stale, seen.unnamed,
      seen.other_names - seen.stale - seen.unnamed));
  ASSERT_GT(seen.frames, static_cast<int64_t>(bounds.samples) / 2) << "too few samples in a minute";
  // None may be taken for another.
  EXPECT_LE(seen.other_names - seen.stale - seen.unnamed, seen.frames / 10);
  EXPECT_LE(seen.stale + seen.unnamed, bounds.most_stale * static_cast<double>(seen.frames));
}

INSTANTIATE_TEST_SUITE_P(Versions, PhpLoad, testing::ValuesIn(PhpReleases()),
                         [](const auto& instance) { return "php" + instance.param.Word(); });

}  // namespace
}  // namespace stackray::test
