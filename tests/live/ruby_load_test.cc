// Ruby programs under load, seen as a receiver sees them: whole stacks, all Ruby frames named, also
// of programs that live for 300 ms and of methods that come and go all the time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "interpreters/ruby/ruby_code.h"
#include "tests/live/ruby_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kWarmUpSamples = 200, kUsualSamples = 800;

// A thread's first block, or, of an enumerator's fiber, the method that it enumerates with.
bool IsRoot(const std::string& function) {
  return function == "<main>" || function.starts_with("block ") ||
         function.starts_with("Enumerator#");
}
const RuntimeTrait kRuby{.frame_type = "ruby", .is_root = IsRoot};

bool IsMade(const std::string& function) { return function.find("made_") != std::string::npos; }

// Nothing of the program's is called from it but functions of classes that are there from the
// start.
bool IsKnown(const std::string& function) {
  return IsMade(function) || function.find("<main>") != std::string::npos ||
         function.find('#') != std::string::npos || function.find('.') != std::string::npos ||
         function.starts_with('<') || function == kRubyCollector;
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
  const auto run = SampleUnderLoad(program.pid(), kWarmUpSamples, bounds.samples, kRuby);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  Measured(LoadText("ruby " + GetParam(), *run));
  // The program makes classes and drops them: their names were sampled with them.
  ExpectWholeAndNamed(*run, bounds, kWarmUpSamples,
                      {.rooted = 0.9, .stacks = 0.9, .unnamed = 0.001});
  EXPECT_LE(static_cast<double>(run->seen.without_line),
            (HasRubyJit(interpreter_) ? 0.05 : 0.001) * static_cast<double>(run->seen.frames));
}

TEST_P(RubyLoad, MethodsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.rb"));
  const auto run = SampleUnderLoad(program.pid(), kWarmUpSamples, bounds.samples, kRuby);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  // A ring that overflows leaves some unnamed; the interpreter's own start is among the others.
  ExpectNamesOfNewCode("ruby " + GetParam(), run->seen, bounds, IsKnown);
  const auto is_not_made = [](const std::string& function) { return !IsMade(function); };
  EXPECT_GT(run->seen.OthersThan(is_not_made), 0);
}

TEST_P(RubyLoad, ProgramsOf300Milliseconds) {
  const auto seen = SampleFiveShortPrograms(Command("short_lived.rb"), kRuby);
  if (!seen.ok()) GTEST_SKIP() << "no BPF here: " << seen.status();
  ExpectFirstMiddleAndLast("ruby " + GetParam(), *seen, "Object#", seen->stacks / 50);
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyLoad, testing::ValuesIn(RubyVersions()),
                         [](const auto& instance) {
                           return "ruby" + RubyTestName(instance.param);
                         });

}  // namespace
}  // namespace stackray::test
