// A Java program under load, seen as a receiver sees it: whole stacks from the leaf to the thread's
// start, all Java frames named, whatever kind of code they are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/live/java_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 60'000;  // A busy machine; else a second or two.
constexpr uint64_t kWarmUpSamples = 800, kUsualSamples = 2000;

struct Seen {
  int64_t stacks = 0, rooted = 0;      // With Java frames; with main or a thread's run() as root.
  int64_t frames = 0, unnamed = 0;     // Java frames.
  int64_t inlined = 0, with_line = 0;  // Places with several functions; with a line.
  int64_t unknown = 0;                 // Stacks with [unknown jit].
};

Seen Look(const std::vector<SeenStack>& stacks, size_t first) {
  Seen seen;
  for (size_t i = first; i < stacks.size(); ++i) {
    const SeenStack& stack = stacks[i];
    std::string root;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != "jvm") continue;
      seen.frames += stack.count;
      const bool is_named = !frame.lines.empty() && !frame.lines.back().function.starts_with("[");
      seen.unnamed += is_named ? 0 : stack.count;
      if (!is_named) continue;
      if (!frame.lines.back().system_name.empty()) root = frame.lines.back().function;
      seen.inlined += frame.lines.size() > 1 ? stack.count : 0;
      seen.with_line += frame.lines.back().line != 0 ? stack.count : 0;
    }
    seen.unknown += stack.marker == "[unknown jit]" ? stack.count : 0;
    if (root.empty()) continue;
    seen.stacks += stack.count;
    seen.rooted += root == "Shapes.main" || root == "java.lang.Thread.run" ? stack.count : 0;
  }
  return seen;
}

TEST(HotSpotLoad, StacksAreWholeAndNamed) {
  const LoadBounds bounds = LoadBoundsFor(kUsualSamples);
  const std::string classes = CompileJava("Shapes");
  if (classes.empty()) GTEST_SKIP() << "no JDK with javac here";
  for (const Jdk& jdk : FindJdks()) {
    SCOPED_TRACE(jdk.home);
    const TargetProgram program =
        TargetProgram::Start({jdk.home + "/bin/java", "-Xmx256m", "-cp", classes, "Shapes"});
    auto run = SampledRun::Start(kFrequencyHz, {program.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    (*run)->Run(kTimeoutMs, kWarmUpSamples);  // The start, and files that are new.
    const uint64_t complete = (*run)->complete(), all = (*run)->with_user_stack();
    const size_t warm_up = (*run)->stacks().size();
    (*run)->Run(kTimeoutMs, bounds.samples);
    (*run)->Stop();
    const auto now_complete = static_cast<double>((*run)->complete() - complete);
    const auto now_all = static_cast<double>((*run)->with_user_stack() - all);
    const Seen seen = Look((*run)->stacks(), warm_up);
    Measured(fmt::format(
        "java {} under load: {} of {} whole, {} of {} with main or run as root, of {} frames {} "
        "unnamed, {} with a line, {} with inlined ones, {} stacks with unknown code; {}",
        jdk.version, now_complete, now_all, seen.rooted, seen.stacks, seen.frames, seen.unnamed,
        seen.with_line, seen.inlined, seen.unknown, (*run)->Ends()));
    for (const std::string& cut : (*run)->CutStacks()) Measured(cut);
    ASSERT_GT(now_all, static_cast<double>(bounds.samples - kWarmUpSamples) / 2);
    EXPECT_GE(now_complete, bounds.least_whole * now_all);
    EXPECT_GE(static_cast<double>(seen.stacks), 0.5 * now_all);
    EXPECT_GE(static_cast<double>(seen.rooted), 0.99 * static_cast<double>(seen.stacks));
    EXPECT_LE(static_cast<double>(seen.unnamed),
              bounds.most_stale * static_cast<double>(seen.frames));
    EXPECT_GT(seen.inlined, 0);
    EXPECT_EQ(seen.unknown, 0);
  }
}

}  // namespace
}  // namespace stackray::test
