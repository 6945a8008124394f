// A Node program under load, seen as a receiver sees it: whole stacks from the leaf to the thread's
// start and all frames named, while functions are made and dropped and the collector moves objects.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/live/node_runs.h"
#include "tests/live/runtime_load.h"
#include "tests/live/sampled_run.h"
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

// What STACKRAY_NODE_PROGRAM says, words with spaces between them: a compiler, a server.
TEST(V8Load, ProgramOfOtherMakers) {
  const char* const asked = std::getenv("STACKRAY_NODE_PROGRAM");
  if (asked == nullptr) GTEST_SKIP() << "no STACKRAY_NODE_PROGRAM";
  std::istringstream words(asked);
  Load(asked, std::vector<std::string>{std::istream_iterator<std::string>(words), {}});
}

}  // namespace
}  // namespace stackray::test
