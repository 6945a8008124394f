// Code that was made at run time, without unwind tables and frame pointers: the stack goes on
// behind it, at the function that has called it, and no function is left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000, kPieceMs = 10'000;
constexpr uint64_t kWarmUpSamples = 100, kSamples = 500;
constexpr int kMissing = 77;  // The program's exit code.

// What the stack has from the program's start to the library, outermost last; the library's own
// functions have no symbols but those that it exports.
const std::vector<std::string> kCallers = {"pcre2_match_8", "MatchOnce", "MatchMany", "main"};

const std::string kMadeCode = "[pcre2 jit]";  // Named by its caller.

// The callers' part of the stack, with nothing between two of them.
bool HasAllCallers(const SeenStack& stack) {
  const std::vector<std::string> names = stack.UserNames();
  const auto at = std::search(names.begin(), names.end(), kCallers.begin(), kCallers.end());
  return at != names.end() && !names.empty() && names.back() == "_start";
}

class RegexJit : public testing::TestWithParam<const char*> {};

TEST_P(RegexJit, ItsCallersAreThere) {
  TargetProgram program = TargetProgram::Start({ProgramPath("regex_jit"), GetParam()});
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kPieceMs, kWarmUpSamples);  // The first ones meet files that are new.
  if (program.Poll() == kMissing) GTEST_SKIP() << "no PCRE2 with a JIT here";
  const size_t begin = (*run)->stacks().size();
  (*run)->Run(kTimeoutMs, kWarmUpSamples + kSamples);
  (*run)->Stop();
  int64_t made = 0, right = 0;
  std::string problem;
  for (size_t i = begin; i < (*run)->stacks().size(); ++i) {
    const SeenStack& stack = (*run)->stacks()[i];
    if (stack.marker.empty() && !stack.Has(kMadeCode)) continue;
    made += stack.count;
    if (stack.marker.empty() && HasAllCallers(stack))
      right += stack.count;
    else
      problem = fmt::format("{}", fmt::join(stack.UserNames(), " "));
  }
  Measured(
      fmt::format("{}: {} of {} samples in made code have all callers", GetParam(), right, made));
  EXPECT_GT(made, 100);
  EXPECT_GE(right * 100, made * 99) << problem;
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, RegexJit,
    testing::Values("(a+)+b",
                    "((((((((((a)*)*)*)*)*)*)*)*)*)*(x)(y)(z)(1)(2)(3)(4)(5)(6)(7)(8)|(b)(c)(d)",
                    "^(?:a|ab|(?<n>\\s(?&n)?))+$|(?R)?z", "(\\w+)\\s(\\d*)x?$|(?<=a)b"),
    [](const auto& instance) { return fmt::format("pattern{}", instance.index); });

// The first word that can be a return address is of a call that is over; what follows from it is no
// code.
TEST(StaleWords, AreFoundOutByWhereTheyLead) {
  TargetProgram program = TargetProgram::Start({ProgramPath("stale_words")});
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kWarmUpSamples + kSamples);
  (*run)->Stop();
  int64_t made = 0, right = 0;
  std::string problem;
  for (const SeenStack& stack : (*run)->stacks()) {
    // The marker of JIT code is no frame: it may be an end's as well.
    const std::vector<std::string> names = stack.UserNames();
    if (stack.marker.empty()) continue;
    made += stack.count;
    if (stack.marker == "[unknown jit]" && names.size() > 2 && names[0] == "CallsMadeCode" &&
        names[1] == "main" && names.back() == "_start")
      right += stack.count;
    else
      problem = fmt::format("{} {}", stack.marker, fmt::join(names, " "));
  }
  Measured(fmt::format("{} of {} samples beside stale words have the caller", right, made));
  EXPECT_GT(made, 100);
  EXPECT_GE(right * 100, made * 99) << problem;
}

}  // namespace
}  // namespace stackray::test
