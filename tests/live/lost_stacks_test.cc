// Stacks that were lost for a cause in the kernel's part: threads without user code, return
// addresses that a probe has replaced, text that has left its file. The programs are in
// tests/live/programs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 400;
constexpr int kTimeoutMs = 20'000, kSettleMs = 300;
constexpr int kCannotHere = 77;  // The program's exit code.

using Judge = std::function<bool(const SeenStack&)>;

class LostStacks : public testing::Test {
 protected:
  void Sample(const std::vector<std::string>& argv) {
    program_.emplace(TargetProgram::Start(argv));
    ASSERT_NE(program_->pid(), 0u);
    usleep(kSettleMs * 1000);  // It probes or moves itself first.
    if (program_->Poll() == kCannotHere) GTEST_SKIP() << argv[0] << " cannot do it here";
    absl::StatusOr<std::unique_ptr<SampledRun>> run =
        SampledRun::Start(kFrequencyHz, {program_->pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    run_ = *std::move(run);
    run_->Run(kTimeoutMs, kSamples);
    run_->Stop();
  }

  int64_t Count(const Judge& is_such) const {
    int64_t sum = 0;
    for (const SeenStack& stack : run_->stacks()) sum += is_such(stack) ? stack.count : 0;
    return sum;
  }

  // Of the samples that `is_of_case` picks at least `least_percent_` are whole and `is_right`.
  void Expect(const std::string& what, const Judge& is_of_case, const Judge& is_right) {
    if (run_ == nullptr) return;
    const int64_t all = Count(is_of_case);
    const int64_t right =
        Count([&](const SeenStack& stack) { return is_of_case(stack) && is_right(stack); });
    Measured(fmt::format("{}: {} of {} samples as expected, {:.2f} % complete; ends: {}", what,
                         right, all, run_->complete_percent(), run_->Ends()));
    EXPECT_GE(all, int64_t{kSamples} / 4) << "too few samples to say anything";
    EXPECT_GE(100 * right, least_percent_ * all) << Wrong(is_of_case, is_right);
    EXPECT_GE(run_->complete_percent(), static_cast<double>(least_percent_));
  }

  std::string Wrong(const Judge& is_of_case, const Judge& is_right) const {
    std::map<std::string, int64_t> texts;
    for (const SeenStack& stack : run_->stacks()) {
      if (!is_of_case(stack) || is_right(stack)) continue;
      std::string text = stack.marker;
      for (const std::string& name : stack.UserNames()) text += " < " + name;
      texts[text] += stack.count;
    }
    std::string lines;
    for (const auto& [text, count] : texts) lines += fmt::format("{} times {}\n", count, text);
    return lines;
  }

  int64_t least_percent_ = 99;
  std::optional<TargetProgram> program_;
  std::unique_ptr<SampledRun> run_;
};

// Neighbours, leaf first, and main and _start at their end.
bool EndsWith(const SeenStack& stack, const std::vector<std::string>& chain) {
  const std::vector<std::string> names = stack.UserNames();
  const auto at = std::search(names.begin(), names.end(), chain.begin(), chain.end());
  return at != names.end() && stack.marker.empty() && stack.Calls("main", chain.back()) &&
         names.back() == "_start";
}

bool Any(const SeenStack&) { return true; }
bool HasUser(const SeenStack& stack) { return !stack.user.empty(); }

TEST_F(LostStacks, WorkersOfIoUringHaveKernelFramesAlone) {
  Sample({ProgramPath("io_workers"), ProgramPath("io_workers")});
  if (run_ == nullptr) return;
  const auto& ends = run_->session().loop().counts().ends;
  const int64_t of_kernel = Count([](const SeenStack& stack) { return stack.user.empty(); });
  Measured(fmt::format("io_uring: {} samples of workers", of_kernel));
  if (of_kernel == 0)
    GTEST_SKIP() << "no worker: before Linux 5.12 they are threads of the kernel's own";
  EXPECT_GE(of_kernel, 20);
  EXPECT_GE(static_cast<int64_t>(ends[END_KERNEL_THREAD]), of_kernel * 9 / 10);
  Expect("io_uring", Any, [](const SeenStack& stack) {
    return stack.marker.empty() && (stack.user.empty() || stack.UserNames().back() == "_start");
  });
}

TEST_F(LostStacks, AReturnProbeHidesNoCaller) {
  Sample({ProgramPath("return_probes"), "one"});
  Expect(
      "return probe", [](const SeenStack& stack) { return stack.Has("ProbeBurn"); },
      [](const SeenStack& stack) {
        return EndsWith(stack, {"ProbeBurn", "StepThree", "StepTwo", "StepOne"});
      });
}

TEST_F(LostStacks, ReturnProbesOfARecursion) {
  Sample({ProgramPath("return_probes"), "recursion"});
  const std::vector<std::string> levels(21, "Descend");
  std::vector<std::string> chain = {"ProbeBurn"};
  chain.insert(chain.end(), levels.begin(), levels.end());
  Expect(
      "return probes, recursion", [](const SeenStack& stack) { return stack.Has("ProbeBurn"); },
      [&](const SeenStack& stack) { return EndsWith(stack, chain); });
}

TEST_F(LostStacks, ReturnProbesOfFunctionsThatShareAReturnAddress) {
  Sample({ProgramPath("return_probes"), "chain"});
  Expect(
      "return probes, chained", [](const SeenStack& stack) { return stack.Has("ProbeBurn"); },
      [](const SeenStack& stack) {
        return EndsWith(stack, {"ProbeBurn", "JumpedTo", "CallsJump"});
      });
}

// Much of its time is the probe's: in the trampoline, in the kernel on the way there and back.
// There is a moment at the function's entry when its return address is replaced and not in the
// kernel's list yet: nobody knows the caller then.
TEST_F(LostStacks, ReturnProbeOfAShortLeaf) {
  least_percent_ = 96;
  Sample({ProgramPath("return_probes"), "leaf"});
  Expect("return probe, short leaf", HasUser, [](const SeenStack& stack) {
    return stack.marker.empty() && stack.Calls("main", "CallsLeaf") &&
           stack.UserNames().back() == "_start";
  });
  if (run_ == nullptr) return;
  EXPECT_EQ(
      Count([](const SeenStack& stack) { return stack.Has("main") && !stack.Has("CallsLeaf"); }), 0)
      << "false stacks";
}

bool IsMoved(const SeenStack& stack) {
  return stack.marker.empty() && stack.Calls("main", "MovedRequest") &&
         stack.UserNames().back() == "_start";
}

TEST_F(LostStacks, TextInAnonymousMemory) {
  Sample({ProgramPath("moved_text"), "program"});
  Expect("moved text", HasUser, IsMoved);
  if (run_ == nullptr) return;
  EXPECT_GE(Count([](const SeenStack& stack) { return stack.Has("MovedCompare"); }), 100);
}

TEST_F(LostStacks, TextInAFileInMemory) {
  Sample({ProgramPath("moved_text"), "memfd"});
  Expect("text in a memfd", HasUser, IsMoved);
}

TEST_F(LostStacks, TextOfALibraryInAnonymousMemory) {
  Sample({ProgramPath("moved_text"), "library", ProgramPath("libplugin.so")});
  Expect("moved text of a library", HasUser, [](const SeenStack& stack) {
    return stack.marker.empty() && stack.Calls("PluginWork", "PluginLeaf") &&
           stack.Calls("main", "PluginWork") && stack.UserNames().back() == "_start";
  });
}

// Code that was made at run time where the program's text was is nobody's text.
TEST_F(LostStacks, MadeCodeInTheProgramsPlace) {
  Sample({ProgramPath("moved_text"), "made"});
  Expect("made code in the place of text", HasUser, [](const SeenStack& stack) {
    return stack.marker == "[unknown jit]" && !stack.Has("UnusedText") &&
           stack.UserNames().front() == "CallMadeCode" && stack.UserNames().back() == "_start";
  });
}

}  // namespace
}  // namespace stackray::test
