// A Node program under load, seen as a receiver sees it: whole stacks from the leaf to the thread's
// start and all frames named, while functions are made and dropped and the collector moves objects.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/node_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
#include "tests/live/talking_program.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else some seconds.
constexpr uint64_t kWarmUpSamples = 800, kUsualSamples = 2000;

struct Seen {
  int64_t stacks = 0;  // With frames of V8.
  int64_t frames = 0, stale = 0, unnamed = 0;
  int64_t with_line = 0, inlined = 0;
  int64_t unknown = 0;  // Stacks through [unknown jit].
  std::map<std::string, int64_t> cuts;
};

Seen Look(const std::vector<SeenStack>& stacks, size_t first) {
  Seen seen;
  for (size_t i = first; i < stacks.size(); ++i) {
    const SeenStack& stack = stacks[i];
    bool has_frames = false;
    std::string text = stack.marker + ":";
    for (const DecodedFrame& frame : stack.user) {
      const std::string name = frame.lines.empty() ? "" : frame.lines.back().function;
      text += " < " + name;
      if (frame.type != "v8js") continue;
      has_frames = true;
      seen.frames += stack.count;
      seen.stale += name == "[stale]" ? stack.count : 0;
      seen.unnamed += name.empty() || name == "[gone]" ? stack.count : 0;
      seen.with_line += !frame.lines.empty() && frame.lines.back().line != 0 ? stack.count : 0;
      seen.inlined += frame.lines.size() > 1 ? stack.count : 0;
    }
    seen.stacks += has_frames ? stack.count : 0;
    seen.unknown += stack.marker == "[unknown jit]" ? stack.count : 0;
    if (!stack.marker.empty()) seen.cuts[text] += stack.count;
  }
  return seen;
}

struct V8Run {
  double complete = 0, all = 0;
  Seen seen;
};

void Report(const std::string& name, const V8Run& run, const std::string& ends) {
  const Seen& seen = run.seen;
  Measured(
      fmt::format("{} under load: {} of {} whole, {} with frames of V8, of {} frames {} stale "
                  "and {} unnamed, {} with a line, {} with inlined ones, {} stacks with "
                  "unknown code; {}",
                  name, run.complete, run.all, seen.stacks, seen.frames, seen.stale, seen.unnamed,
                  seen.with_line, seen.inlined, seen.unknown, ends));
  for (const auto& [cut, count] : seen.cuts) Measured(fmt::format("{} times {}", count, cut));
}

void Load(const std::string& name, const std::vector<std::string>& command) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const TargetProgram program = TargetProgram::Start(command);
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kWarmUpSamples);  // The start, and files that are new.
  const uint64_t complete = (*run)->complete(), all = (*run)->with_user_stack();
  const size_t warm_up = (*run)->stacks().size();
  (*run)->Run(kTimeoutMs, bounds.samples);
  (*run)->Stop();
  const V8Run seen{.complete = static_cast<double>((*run)->complete() - complete),
                   .all = static_cast<double>((*run)->with_user_stack() - all),
                   .seen = Look((*run)->stacks(), warm_up)};
  Report(name, seen, (*run)->Ends());
  ASSERT_GT(seen.all, static_cast<double>(bounds.samples - kWarmUpSamples) / 2);
  EXPECT_GE(seen.complete, bounds.least_whole * seen.all);
  EXPECT_GE(static_cast<double>(seen.seen.stacks), 0.5 * seen.all);
  EXPECT_LE(static_cast<double>(seen.seen.stale + seen.seen.unnamed),
            bounds.most_stale * static_cast<double>(seen.seen.frames));
  EXPECT_EQ(seen.seen.unknown, 0);
}

TEST(V8Load, StacksAreWholeAndNamed) {
  const std::vector<Node> nodes = FindNodes();
  if (nodes.empty()) GTEST_SKIP() << "no Node here";
  for (const Node& node : nodes) {
    if (node.is_deno) continue;  // It has no such program.
    SCOPED_TRACE(node.version);
    Load("node " + node.version, node.Run({"--expose-gc"}, "churn.js", {}));
  }
}

// Samples of a program that says what it has to say before "ready".
std::unique_ptr<SampledRun> Sample(TalkingProgram& program, bool async_parents, std::string* said) {
  auto run = SampledRun::Start(kFrequencyHz, {program.pid()}, async_parents);
  if (!run.ok()) return nullptr;
  if (said != nullptr) *said = WaitForLine(program, 0, "ready", kTimeoutMs);
  (*run)->Run(kTimeoutMs, LoadBoundsFor(kUsualSamples).samples);
  (*run)->Stop();
  return *std::move(run);
}

std::string FunctionOf(const DecodedFrame& frame) {
  return frame.lines.empty() || frame.type != "v8js" ? "" : frame.lines.front().function;
}

// Expressions by the functions that use them, as regexps.cjs says.
std::map<std::string, std::string> SaidExpressions(const std::string& said) {
  constexpr std::string_view kExpression = "regexp ";
  std::map<std::string, std::string> expressions;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (!line.starts_with(kExpression) || tab == std::string::npos) continue;
    const std::string function = line.substr(kExpression.size(), tab - kExpression.size());
    expressions[function] = "RegExp: " + line.substr(tab + 1);
  }
  return expressions;
}

struct Expressions {
  int64_t frames = 0, named = 0, wrong = 0;
  std::map<std::string, int64_t> functions;
  std::string first_wrong;
};

void Look(const SeenStack& stack, const std::map<std::string, std::string>& expected,
          Expressions* seen) {
  for (size_t i = 0; i < stack.user.size(); ++i) {
    const std::string name = FunctionOf(stack.user[i]);
    if (name != "RegExp" && !name.starts_with("RegExp: ")) continue;  // A builtin.
    // The function that uses it is the first one that it has been said of.
    auto used = expected.end();
    for (size_t at = i + 1; at < stack.user.size() && used == expected.end(); ++at)
      used = expected.find(FunctionOf(stack.user[at]));
    if (used == expected.end()) continue;  // Before "ready".
    seen->frames += stack.count;
    seen->functions[used->first] += stack.count;
    if (name == used->second)
      seen->named += stack.count;
    else if (name != "RegExp")
      seen->wrong += stack.count, seen->first_wrong = used->second + " is " + name;
  }
}

TEST(V8Load, RegularExpressionsHaveTheirSources) {
  const std::vector<Node> nodes = FindNodes();
  if (nodes.empty()) GTEST_SKIP() << "no Node here";
  for (const Node& node : nodes) {
    SCOPED_TRACE(node.version);
    TalkingProgram program(node.Run({}, "regexps.cjs", {"60"}));
    std::string said;
    const auto run = Sample(program, false, &said);
    if (run == nullptr) GTEST_SKIP() << "no BPF here";
    const std::map<std::string, std::string> expected = SaidExpressions(said);
    ASSERT_EQ(expected.size(), 8U);
    Expressions seen;
    for (const SeenStack& stack : run->stacks()) Look(stack, expected, &seen);
    Measured(
        fmt::format("{}: {} of {} frames of {} regular expressions have their source, {} a "
                    "wrong one",
                    node.Name(), seen.named, seen.frames, seen.functions.size(), seen.wrong));
    EXPECT_EQ(seen.functions.size(), expected.size());
    EXPECT_GE(static_cast<double>(seen.named), 0.99 * static_cast<double>(seen.frames));
    EXPECT_EQ(seen.wrong, 0) << seen.first_wrong;
  }
}

// The only function that can await this one of awaits_load.cjs; "": none of them.
std::string OnlyCaller(const std::string& function) {
  const size_t level = function.rfind('_') + 1;
  if (!function.starts_with("f_") || level < 4) return "";
  const int at = std::atoi(function.c_str() + level);
  return at == 0 ? "run" : function.substr(0, level) + std::to_string(at - 1);
}

struct Awaiting {
  int64_t stacks = 0, frames = 0, wrong = 0;
  int64_t without = 0;  // Resumed functions of a stack that ends with them.
  std::string first_wrong;
};

// Whatever is resumed and whatever awaits it, from the inside.
void Look(const SeenStack& stack, Awaiting* seen) {
  constexpr std::string_view kAsync = "async ", kFirst = "run";
  std::string last;  // The function that was resumed, then those that await.
  bool has_any = false, was_resumed = false;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type != "v8js") continue;
    for (const DecodedLine& line : frame.lines) {
      const std::string& name = line.function;
      was_resumed = was_resumed || name.starts_with("AsyncFunctionAwait");
      if (!name.starts_with(kAsync)) {
        if (!has_any && (name == kFirst || !OnlyCaller(name).empty())) last = name;
        continue;
      }
      has_any = true;
      const std::string caller = name.substr(kAsync.size());
      seen->frames += stack.count;
      // A function that is about to run has no frame yet.
      if (!last.empty() && caller != OnlyCaller(last))
        seen->wrong += stack.count, seen->first_wrong = caller + " awaits " + last;
      last = caller;
    }
  }
  if (last.empty() || !was_resumed) return;
  seen->stacks += stack.count;
  seen->without += last != kFirst ? stack.count : 0;
}

TEST(V8Load, FunctionsThatAwaitAreTheOnlyOnesThatCan) {
  const std::vector<Node> nodes = FindNodes();
  if (nodes.empty()) GTEST_SKIP() << "no Node here";
  for (const Node& node : nodes) {
    if (node.is_deno) continue;
    SCOPED_TRACE(node.version);
    TalkingProgram program(node.Run({}, "awaits_load.cjs", {"60"}));
    const auto run = Sample(program, true, nullptr);
    if (run == nullptr) GTEST_SKIP() << "no BPF here";
    Awaiting seen;
    // Of the first batch user space has ended some walks, and does not ask the heap.
    for (const SeenStack& stack : run->stacks())
      if (stack.batch > 0) Look(stack, &seen);
    const auto counts = run->session().loop().counts();
    Measured(fmt::format(
        "{}: {} frames that await in {} stacks, {} of them wrong, {} stacks "
        "without all of theirs, of {} samples",
        node.Name(), seen.frames, seen.stacks, seen.wrong, seen.without, counts.samples));
    EXPECT_GT(seen.frames, seen.stacks);
    EXPECT_LE(static_cast<double>(seen.without), 0.02 * static_cast<double>(seen.stacks));
    EXPECT_EQ(seen.wrong, 0) << seen.first_wrong;
  }
}

// What STACKRAY_NODE_PROGRAM says, words with spaces between them: a compiler, a server.
TEST(V8Load, ProgramOfOtherMakers) {
  const char* const asked = std::getenv("STACKRAY_NODE_PROGRAM");
  if (asked == nullptr) GTEST_SKIP() << "no STACKRAY_NODE_PROGRAM";
  std::istringstream words(asked);
  Load(asked, std::vector<std::string>{std::istream_iterator<std::string>(words), {}});
}

}  // namespace
}  // namespace stackray::test
