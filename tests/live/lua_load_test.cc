// A Lua program under load, seen as a receiver sees it: whole stacks, all Lua frames named with
// lines, coroutines and callbacks in their places, also functions that are made and dropped all the
// time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 100, kUsualSamples = 600;
constexpr char kLua[] = "/usr/bin/lua5.4";
// Lines of many_shapes.lua.
constexpr int64_t kInCoroutine = 33, kOuter = 42, kLess = 20;

struct Seen {
  int64_t stacks = 0, rooted = 0;  // With Lua's frames; with the main chunk as their outermost one.
  int64_t frames = 0, unnamed = 0, without_line = 0, wrong_lines = 0;
  int64_t coroutines = 0, right_coroutines = 0;  // The inner one is run by the outer one.
  int64_t comparisons = 0, below_a_sort = 0;     // A native frame is between it and its caller.
};

// "function <file:12>": 12; 0 of the main chunk.
int64_t FirstLine(const DecodedLine& line) {
  const size_t colon = line.function.rfind(':');
  return colon == std::string::npos ? 0 : std::atoll(line.function.c_str() + colon + 1);
}

// A line lies in its function, which has 10 lines at most.
bool IsLineOf(const DecodedLine& line) {
  const int64_t first = FirstLine(line);
  return line.line >= first && line.line <= (first == 0 ? 60 : first + 10);
}

Seen Look(const std::vector<SeenStack>& stacks) {
  Seen seen;
  for (const SeenStack& stack : stacks) {
    std::string root;
    int64_t before = 0, coroutine = -1;
    bool is_right = false;
    for (const DecodedFrame& frame : stack.user) {
      const DecodedLine line = frame.lines.empty() ? DecodedLine{} : frame.lines.back();
      if (frame.type != "lua") {
        if (before == kLess) seen.below_a_sort += stack.count;
        before = 0;
        continue;
      }
      root = line.function;
      const int64_t first = FirstLine(line);
      before = first;
      seen.frames += stack.count;
      seen.comparisons += first == kLess ? stack.count : 0;
      const bool has_name =
          line.function == "main chunk" || line.function.starts_with("function <");
      seen.unnamed += has_name ? 0 : stack.count;
      seen.without_line += has_name && line.line == 0 ? stack.count : 0;
      seen.wrong_lines += has_name && line.line != 0 && !IsLineOf(line) ? stack.count : 0;
      if (first == kInCoroutine) coroutine = 0;
      if (coroutine == 0 && first == kOuter) is_right = true;
    }
    if (root.empty()) continue;
    seen.stacks += stack.count;
    seen.rooted += root == "main chunk" ? stack.count : 0;
    seen.coroutines += coroutine == 0 ? stack.count : 0;
    seen.right_coroutines += is_right ? stack.count : 0;
  }
  return seen;
}

TEST(LuaLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  if (access(kLua, X_OK) != 0) GTEST_SKIP() << "no " << kLua << " here";
  const TargetProgram program = TargetProgram::Start(
      {kLua, std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/lua/many_shapes.lua"});
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
      "lua 5.4 under load: {} of {} whole, {} of {} with the main chunk as root, of {} frames {} "
      "unnamed, {} without line, {} with another function's; {} of {} coroutines in their resumer, "
      "{} of {} comparisons below a sort; {}",
      now_complete, now_all, seen.rooted, seen.stacks, seen.frames, seen.unnamed, seen.without_line,
      seen.wrong_lines, seen.right_coroutines, seen.coroutines, seen.below_a_sort, seen.comparisons,
      (*run)->Ends()));
  ASSERT_GT(now_all, (bounds.samples - kWarmUpSamples) / 2) << "too few samples in a minute";
  EXPECT_GE(static_cast<double>(now_complete), bounds.least_whole * static_cast<double>(now_all));
  EXPECT_GE(static_cast<double>(seen.stacks), 0.95 * static_cast<double>(now_all));
  EXPECT_GE(static_cast<double>(seen.rooted), 0.97 * static_cast<double>(seen.stacks));
  EXPECT_LE(static_cast<double>(seen.unnamed),
            bounds.most_stale * static_cast<double>(seen.frames));
  EXPECT_LE(static_cast<double>(seen.without_line + seen.wrong_lines),
            0.01 * static_cast<double>(seen.frames));
  EXPECT_GT(seen.coroutines, 0);
  EXPECT_GE(static_cast<double>(seen.right_coroutines),
            0.95 * static_cast<double>(seen.coroutines));
  EXPECT_GT(seen.comparisons, 0);
  EXPECT_GE(static_cast<double>(seen.below_a_sort), 0.9 * static_cast<double>(seen.comparisons));
}

}  // namespace
}  // namespace stackray::test
