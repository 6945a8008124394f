// Coroutines that run on stacks of their own, or on pieces of one: each stack is whole, ends in the
// coroutine's first function, and has nothing of whoever switched to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 400;
constexpr int kTimeoutMs = 20'000;
constexpr double kLeastPercent = 99;

std::string Program(const std::string& name) {
  return STACKRAY_SOURCE_DIR "/tests/live/programs/" + name;
}

std::string Print(const SeenStack& stack) {
  std::string text = stack.marker;
  for (const DecodedFrame& frame : stack.user)
    text += fmt::format("\n  {}+0x{:x} {}", frame.mapping_path, frame.address,
                        frame.lines.empty() ? "" : frame.lines.back().function);
  return text;
}

bool HasAny(const SeenStack& stack, std::initializer_list<const char*> functions) {
  return std::ranges::any_of(functions, [&](const char* name) { return stack.Has(name); });
}

// The outermost frame that is machine code.
const DecodedFrame* NativeRoot(const SeenStack& stack) {
  for (auto frame = stack.user.rbegin(); frame != stack.user.rend(); ++frame)
    if (!frame->mapping_path.empty()) return &*frame;
  return nullptr;
}

class CoroutineStacks : public testing::Test {
 protected:
  // Samples the program; `is_right` of every stack that `is_coroutine` holds for.
  template <typename IsCoroutine, typename IsRight>
  void Judge(const std::vector<std::string>& argv, IsCoroutine is_coroutine, IsRight is_right) {
    TargetProgram program = TargetProgram::Start(argv);
    ASSERT_NE(program.pid(), 0u);
    absl::StatusOr<std::unique_ptr<SampledRun>> run =
        SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    (*run)->Run(kTimeoutMs, kSamples);
    (*run)->Stop();
    int64_t coroutines = 0, right = 0;
    std::string worst;
    for (const SeenStack& stack : (*run)->stacks()) {
      EXPECT_FALSE(HasAny(stack, {"deep_a", "main::deep_a"}) &&
                   HasAny(stack, {"deep_b", "main::deep_b"}))
          << Print(stack);
      if (!is_coroutine(stack)) continue;
      coroutines += stack.count;
      if (is_right(stack))
        right += stack.count;
      else
        worst = Print(stack);
    }
    Measured(
        fmt::format("{}: {} samples, {:.2f} % complete; {} of {} coroutines' as expected; ends: {}",
                    argv.back(), (*run)->with_user_stack(), (*run)->complete_percent(), right,
                    coroutines, (*run)->Ends()));
    EXPECT_GE(coroutines, static_cast<int64_t>(kSamples / 4)) << "too few to say anything";
    EXPECT_GE((*run)->complete_percent(), kLeastPercent) << worst;
    EXPECT_GE(100.0 * static_cast<double>(right), kLeastPercent * static_cast<double>(coroutines))
        << worst;
  }
};

TEST_F(CoroutineStacks, OfPerlsCoro) {
  if (std::system("perl -MCoro -e 1 2>/dev/null") != 0) GTEST_SKIP() << "no libcoro-perl here";
  Judge(
      {"perl", Program("perl/coro.pl")},
      [](const SeenStack& stack) {
        return HasAny(stack, {"main::deep_a", "main::deep_b"});
      },
      [](const SeenStack& stack) {
        const DecodedFrame* root = NativeRoot(stack);
        return stack.marker.empty() && root != nullptr && root->mapping_path.ends_with("State.so");
      });
}

TEST_F(CoroutineStacks, OfPythonsGreenlet) {
  const std::string python = "/usr/bin/python3";
  if (std::system((python + " -c 'import greenlet' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no python3-greenlet here";
  Judge(
      {python, Program("python/greenlets.py")},
      [](const SeenStack& stack) {
        return HasAny(stack, {"run_a", "run_b", "run_short"});
      },
      [](const SeenStack& stack) {
        const DecodedFrame* root = NativeRoot(stack);
        return stack.marker.empty() && root != nullptr && !stack.Has("level") &&
               root->lines.size() == 1 &&
               root->lines[0].function.find("UserGreenlet::inner_bootstrap") != std::string::npos;
      });
}

}  // namespace
}  // namespace stackray::test
