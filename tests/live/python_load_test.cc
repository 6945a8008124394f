// Python programs under load, seen as a receiver sees them: whole stacks, all frames named, also of
// programs that live for 300 ms and of functions that come and go all the time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernel/wall_clock.h"
#include "tests/live/python_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;

struct Seen {
  int64_t stacks = 0, rooted = 0;  // With Python frames; with the program's own root below them.
  int64_t frames = 0, unnamed = 0, without_line = 0;
  std::map<std::string, int64_t> functions;  // Samples that have them.
};

bool IsNoName(const std::string& name) {
  return name.empty() || name == "[stale]" || name == "[gone]";
}

Seen Look(const std::vector<SeenStack>& stacks) {
  Seen seen;
  for (const SeenStack& stack : stacks) {
    std::string root;
    std::map<std::string, bool> names;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != "cpython") continue;
      const DecodedLine line = frame.lines.empty() ? DecodedLine{} : frame.lines.back();
      root = line.function;
      names[line.function] = true;
      seen.frames += stack.count;
      if (IsNoName(line.function)) seen.unnamed += stack.count;
      if (line.line <= 0 || line.file.empty()) seen.without_line += stack.count;
    }
    if (names.empty()) continue;
    seen.stacks += stack.count;
    for (const auto& [name, yes] : names) seen.functions[name] += stack.count;
    if (root == "<module>" || root == "Thread._bootstrap" || root == "_bootstrap")
      seen.rooted += stack.count;
  }
  return seen;
}

std::string Program(const std::string& name) {
  return std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/python/" + name;
}

class PythonLoad : public testing::TestWithParam<PythonVersion> {
 protected:
  void SetUp() override {
    interpreter_ = FindPython(GetParam());
    if (interpreter_.empty()) GTEST_SKIP() << "no Python " << GetParam().Name() << " here";
  }
  std::vector<std::string> interpreter_;
};

TEST_P(PythonLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::unique_ptr<PythonRun> program = PythonRun::Start(interpreter_, "threads");
  ASSERT_NE(program, nullptr);
  auto run = SampledRun::Start(kFrequencyHz, {program->pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kWarmUpSamples);  // The first ones meet files that are new.
  const uint64_t complete = (*run)->complete(), all = (*run)->with_user_stack();
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const uint64_t now_complete = (*run)->complete() - complete;
  const uint64_t now_all = (*run)->with_user_stack() - all;
  const Seen seen = Look((*run)->stacks());
  Measured(
      fmt::format("python {} under load: {} of {} whole, {} of {} with Python's root, {} of {} "
                  "frames unnamed, {} without line; {}",
                  GetParam().Name(), now_complete, now_all, seen.rooted, seen.stacks, seen.unnamed,
                  seen.frames, seen.without_line, (*run)->Ends()));
  ASSERT_GT(now_all, (bounds.samples - kWarmUpSamples) / 2) << "too few samples in a minute";
  EXPECT_GE(static_cast<double>(now_complete), bounds.least_whole * static_cast<double>(now_all));
  EXPECT_GE(static_cast<double>(seen.rooted), 0.99 * static_cast<double>(seen.stacks));
  EXPECT_GE(static_cast<double>(seen.stacks), 0.95 * static_cast<double>(now_all));
  EXPECT_LE(static_cast<double>(seen.unnamed), 0.001 * static_cast<double>(seen.frames));
}

TEST_P(PythonLoad, FunctionsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  std::vector<std::string> command = interpreter_;
  command.push_back(Program("new_code.py"));
  const TargetProgram program = TargetProgram::Start(command);
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const Seen seen = Look((*run)->stacks());
  int64_t wrong = 0;
  for (const auto& [name, count] : seen.functions)
    if (!name.starts_with("made_") && !name.starts_with("<") && !IsNoName(name)) wrong += count;
  Measured(
      fmt::format("python {} with functions that come and go: {} frames, {} [stale], {} of other "
                  "names",
                  GetParam().Name(), seen.frames, seen.unnamed, wrong));
  ASSERT_GT(seen.frames, static_cast<int64_t>(bounds.samples) / 2) << "too few samples in a minute";
  // Many functions are gone milliseconds later; their names were sampled with them, and none is
  // taken for another.
  EXPECT_LE(seen.unnamed, bounds.most_stale * static_cast<double>(seen.frames));
  EXPECT_LT(wrong, seen.frames / 10);  // The interpreter's own start is among them.
}

TEST_P(PythonLoad, ProgramsOf300Milliseconds) {
  constexpr int kPrograms = 5;
  std::vector<std::string> command = interpreter_;
  command.push_back(Program("short_lived.py"));
  // From one parent, which is the target: the sampler knows nothing of them before they run.
  std::string line = "sleep 1; for i in 1 2 3 4 5; do";
  for (const std::string& word : command) line += " '" + word + "'";
  TargetProgram shell = TargetProgram::Start({"sh", "-c", line + "; done"});
  auto run = SampledRun::Start(kFrequencyHz, {shell.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  const uint64_t end = BootTimeNs() + 60'000'000'000;
  while (!shell.Poll() && BootTimeNs() < end) (*run)->Run(200);
  (*run)->Stop();
  const Seen seen = Look((*run)->stacks());
  const auto samples_of = [&](const char* function) {
    const auto found = seen.functions.find(function);
    return found == seen.functions.end() ? 0 : found->second;
  };
  Measured(
      fmt::format("python {}, {} programs of 300 ms: first {}, middle {}, last {} samples; {} "
                  "[gone], {} [stale] of {} frames",
                  GetParam().Name(), kPrograms, samples_of("first"), samples_of("middle"),
                  samples_of("last"), samples_of("[gone]"), samples_of("[stale]"), seen.frames));
  EXPECT_GT(samples_of("first"), 0);
  EXPECT_GT(samples_of("middle"), 0);
  EXPECT_GT(samples_of("last"), 0);
  EXPECT_LE(samples_of("[gone]") + samples_of("[stale]"), seen.stacks / 10);
}

INSTANTIATE_TEST_SUITE_P(Versions, PythonLoad, testing::ValuesIn(PythonVersions()),
                         [](const auto& instance) { return "python" + instance.param.Word(); });

}  // namespace
}  // namespace stackray::test
