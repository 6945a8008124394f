// PHP programs under load, seen as a receiver sees them: whole stacks, all frames named, also of
// functions that come and go all the time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/live/php_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;

bool IsMain(const std::string& function) { return function == "{main}"; }
const RuntimeTrait kPhp{.frame_type = "php", .is_root = IsMain};

// Functions of the programs, and what they call.
bool IsKnown(const std::string& function) {
  return function.starts_with("{") || function == "str_repeat" || function == "spin" ||
         function == "eval";
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
  const auto run = SampleUnderLoad(program.pid(), kWarmUpSamples, bounds.samples, kPhp);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  Measured(LoadText(Version() + (jit.empty() ? "" : " " + jit), *run));
  ExpectWholeAndNamed(*run, bounds, kWarmUpSamples, {});
}

TEST_P(PhpLoad, StacksAreWholeAndNamed) { ExpectWholeStacks(""); }

TEST_P(PhpLoad, WithItsTracingJit) {
  if (GetParam().major < 8) GTEST_SKIP() << "PHP 7 has no JIT";
  ExpectWholeStacks("tracing");
}

TEST_P(PhpLoad, FunctionsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.php"));
  const auto run = SampleUnderLoad(program.pid(), 0, bounds.samples, kPhp);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  ExpectNamesOfNewCode(Version(), run->seen, bounds, IsKnown);  // None is taken for another.
}

INSTANTIATE_TEST_SUITE_P(Versions, PhpLoad, testing::ValuesIn(PhpReleases()),
                         [](const auto& instance) { return "php" + instance.param.Word(); });

}  // namespace
}  // namespace stackray::test
