// Perl programs under load, seen as a receiver sees them: whole stacks, all frames named, also of
// code that comes and goes all the time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/live/perl_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;

bool IsMain(const std::string& function) { return function == "{main}"; }
const RuntimeTrait kPerl{.frame_type = "perl", .is_root = IsMain};

// Functions of the programs, and what they call.
bool IsKnown(const std::string& function) {
  return function == "main::spin" || function == "main::__ANON__" || function == "{main}" ||
         function == "eval '...'" || function.starts_with("Made::P") ||
         function.starts_with("UNIVERSAL::");
}

class PerlLoad : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    interpreter_ = FindPerl(GetParam());
    if (interpreter_.empty()) GTEST_SKIP() << "no Perl 5." << GetParam() << " here";
  }
  std::string Version() const { return fmt::format("perl 5.{}", GetParam()); }
  std::vector<std::string> Command(const std::string& script) const {
    std::vector<std::string> command = interpreter_;
    command.push_back(std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/perl/" + script);
    return command;
  }
  std::vector<std::string> interpreter_;
};

TEST_P(PerlLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("many_shapes.pl"));
  const auto run = SampleUnderLoad(program.pid(), kWarmUpSamples, bounds.samples, kPerl);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  Measured(LoadText(Version(), *run));
  // A sample of the program's start, in BEGIN, has another root.
  ExpectWholeAndNamed(*run, bounds, kWarmUpSamples, {.rooted = 0.9, .stacks = 0.9, .unnamed = {}});
}

TEST_P(PerlLoad, CodeThatComesAndGoes) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(Command("new_code.pl"));
  // What is sent along needs the file to be known.
  const auto run = SampleUnderLoad(program.pid(), kWarmUpSamples, bounds.samples, kPerl);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  // None may be taken for another; the program's start has names of its own.
  ExpectNamesOfNewCode(Version(), run->seen, bounds, IsKnown);
}

INSTANTIATE_TEST_SUITE_P(Versions, PerlLoad, testing::ValuesIn(PerlReleases()),
                         [](const auto& instance) {
                           return fmt::format("perl5_{}", instance.param);
                         });

}  // namespace
}  // namespace stackray::test
