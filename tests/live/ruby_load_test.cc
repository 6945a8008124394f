// Ruby programs under load, seen as a receiver sees them: whole stacks, all Ruby frames named, also
// of programs that live for 300 ms and of methods that come and go all the time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "interpreters/ruby/ruby_code.h"
#include "kernel/wall_clock.h"
#include "tests/live/ruby_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 200, kUsualSamples = 800;

struct Seen {
  int64_t stacks = 0,
          rooted = 0;  // With Ruby frames; with the thread's own first block below them.
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
      if (frame.type != "ruby") continue;
      const DecodedLine line = frame.lines.empty() ? DecodedLine{} : frame.lines.back();
      root = line.function;
      names[line.function] = true;
      seen.frames += stack.count;
      if (IsNoName(line.function)) seen.unnamed += stack.count;
      if (!line.file.empty() && line.line <= 0) seen.without_line += stack.count;
    }
    if (names.empty()) continue;
    seen.stacks += stack.count;
    for (const auto& [name, yes] : names) seen.functions[name] += stack.count;
    // A thread's first block, or, of an enumerator's fiber, the method that it enumerates with.
    if (root == "<main>" || root.starts_with("block ") || root.starts_with("Enumerator#"))
      seen.rooted += stack.count;
  }
  return seen;
}

class RubyLoad : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    interpreter_ = FindRuby(GetParam());
    if (interpreter_.empty()) GTEST_SKIP() << "no Ruby " << GetParam() << " here";
  }
  std::vector<std::string> Command(const std::string& program, const std::string& kind = "") {
    std::vector<std::string> command = interpreter_;
    command.push_back(RubyProgram(program));
    if (!kind.empty()) command.push_back(kind);
    return command;
  }
  std::vector<std::string> interpreter_;
};

TEST_P(RubyLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("many_shapes.rb", "threads"));
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
      "ruby {} under load: {} of {} whole, {} of {} with Ruby's root, {} of {} frames unnamed, {} "
      "without line; {}",
      GetParam(), now_complete, now_all, seen.rooted, seen.stacks, seen.unnamed, seen.frames,
      seen.without_line, (*run)->Ends()));
  ASSERT_GT(now_all, (bounds.samples - kWarmUpSamples) / 2) << "too few samples in a minute";
  EXPECT_GE(static_cast<double>(now_complete), bounds.least_whole * static_cast<double>(now_all));
  EXPECT_GE(static_cast<double>(seen.rooted), 0.9 * static_cast<double>(seen.stacks));
  EXPECT_GE(static_cast<double>(seen.stacks), 0.9 * static_cast<double>(now_all));
  // The program makes classes and drops them: their names were sampled with them.
  EXPECT_LE(static_cast<double>(seen.unnamed), 0.001 * static_cast<double>(seen.frames));
  EXPECT_LE(static_cast<double>(seen.without_line),
            (HasRubyJit(interpreter_) ? 0.05 : 0.001) * static_cast<double>(seen.frames));
}

TEST_P(RubyLoad, MethodsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.rb"));
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kWarmUpSamples);
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const Seen seen = Look((*run)->stacks());
  int64_t made = 0, wrong = 0;
  for (const auto& [name, count] : seen.functions) {
    const bool is_made = name.find("made_") != std::string::npos;
    made += is_made ? count : 0;
    // Nothing of the program's is called from it but functions of classes that are there from the
    // start.
    const bool is_known = is_made || IsNoName(name) || name.find("<main>") != std::string::npos ||
                          name.find('#') != std::string::npos ||
                          name.find('.') != std::string::npos || name.starts_with('<') ||
                          name == kRubyCollector || name == "block in <main>";
    wrong += is_known ? 0 : count;
  }
  Measured(
      fmt::format("ruby {} with methods that come and go: {} frames, {} of made methods, {} "
                  "[stale], {} of other names",
                  GetParam(), seen.frames, made, seen.unnamed, wrong));
  ASSERT_GT(seen.frames, static_cast<int64_t>(bounds.samples) / 2) << "too few samples in a minute";
  EXPECT_GT(made, 0);
  EXPECT_LE(
      seen.unnamed,
      bounds.most_stale * static_cast<double>(seen.frames));  // A ring that overflows; else none.
  EXPECT_LT(wrong, seen.frames / 10);  // The interpreter's own start is among them.
}

TEST_P(RubyLoad, ProgramsOf300Milliseconds) {
  constexpr int kPrograms = 5;
  // From one parent, which is the target: the sampler knows nothing of them before they run.
  std::string line = "sleep 1; for i in 1 2 3 4 5; do";
  for (const std::string& word : Command("short_lived.rb")) line += " '" + word + "'";
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
  Measured(fmt::format(
      "ruby {}, {} programs of 300 ms: first {}, middle {}, last {} samples; {} "
      "[gone], {} [stale] of {} stacks",
      GetParam(), kPrograms, samples_of("Object#first"), samples_of("Object#middle"),
      samples_of("Object#last"), samples_of("[gone]"), samples_of("[stale]"), seen.stacks));
  EXPECT_GT(samples_of("Object#first"), 0);
  EXPECT_GT(samples_of("Object#middle"), 0);
  EXPECT_GT(samples_of("Object#last"), 0);
  EXPECT_LE(samples_of("[gone]") + samples_of("[stale]"), seen.stacks / 50);
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyLoad, testing::ValuesIn(RubyVersions()),
                         [](const auto& instance) {
                           return "ruby" + RubyTestName(instance.param);
                         });

}  // namespace
}  // namespace stackray::test
