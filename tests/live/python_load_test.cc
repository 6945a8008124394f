// Python programs under load, seen as a receiver sees them: whole stacks, all frames named, also of
// programs that live for 300 ms and of functions that come and go all the time.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/live/python_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;

bool IsRoot(const std::string& function) {
  return function == "<module>" || function == "Thread._bootstrap" || function == "_bootstrap";
}
const RuntimeTrait kPython{.frame_type = "cpython", .is_root = IsRoot, .all_have_files = true};

class PythonLoad : public testing::TestWithParam<PythonVersion> {
 protected:
  void SetUp() override {
    interpreter_ = FindPython(GetParam());
    if (interpreter_.empty()) GTEST_SKIP() << "no Python " << GetParam().Name() << " here";
  }
  std::vector<std::string> Command(const std::string& program) const {
    std::vector<std::string> command = interpreter_;
    command.push_back(std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/python/" + program);
    return command;
  }
  std::vector<std::string> interpreter_;
};

TEST_P(PythonLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::unique_ptr<PythonRun> program = PythonRun::Start(interpreter_, "threads");
  ASSERT_NE(program, nullptr);
  const auto run = SampleUnderLoad(program->pid(), kWarmUpSamples, bounds.samples, kPython);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  Measured(LoadText("python " + GetParam().Name(), *run));
  ExpectWholeAndNamed(*run, bounds, kWarmUpSamples, {.unnamed = 0.001});
}

TEST_P(PythonLoad, FunctionsThatComeAndGo) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.py"));
  const auto run = SampleUnderLoad(program.pid(), 0, bounds.samples, kPython);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  // Many functions are gone milliseconds later; their names were sampled with them, and none is
  // taken for another. The interpreter's own start is among the others.
  ExpectNamesOfNewCode("python " + GetParam().Name(), run->seen, bounds,
                       [](const std::string& function) {
                         return function.starts_with("made_") || function.starts_with("<");
                       });
}

TEST_P(PythonLoad, ProgramsOf300Milliseconds) {
  const auto seen = SampleFiveShortPrograms(Command("short_lived.py"), kPython);
  if (!seen.ok()) GTEST_SKIP() << "no BPF here: " << seen.status();
  ExpectFirstMiddleAndLast("python " + GetParam().Name(), *seen, "", seen->stacks / 10);
}

INSTANTIATE_TEST_SUITE_P(Versions, PythonLoad, testing::ValuesIn(PythonVersions()),
                         [](const auto& instance) { return "python" + instance.param.Word(); });

}  // namespace
}  // namespace stackray::test
