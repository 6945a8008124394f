// A process that forges V8's objects, and changes them all the time: nothing hangs, only its own
// frames have wrong names, and another process is sampled as ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTimeoutMs = 8'000;
constexpr uint64_t kSamples = 600;
constexpr size_t kMostNameBytes = 4096;

TEST(V8Forged, NothingHangsAndOthersAreSampled) {
  const TargetProgram forger = TargetProgram::Start({ProgramPath("forged_v8")});
  const TargetProgram honest = TargetProgram::Start({ProgramPath("spin")});
  auto run = SampledRun::Start(kFrequencyHz, {forger.pid(), honest.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kSamples);
  (*run)->Stop();
  int64_t of_forger = 0, of_honest = 0, whole = 0, forged = 0, named = 0;
  for (const SeenStack& stack : (*run)->stacks()) {
    if (stack.pid == honest.pid()) {
      of_honest += stack.count;
      whole += stack.marker.empty() ? stack.count : 0;
    }
    of_forger += stack.pid == forger.pid() ? stack.count : 0;
    for (const DecodedFrame& frame : stack.user) {
      if (frame.type != "v8js") continue;
      EXPECT_EQ(stack.pid, forger.pid());
      forged += stack.count;
      for (const DecodedLine& line : frame.lines) {
        EXPECT_LE(line.function.size(), kMostNameBytes);
        EXPECT_LE(line.file.size(), kMostNameBytes);
        named += line.function == "[stale]" ? 0 : stack.count;
      }
    }
  }
  Measured(
      fmt::format("forged V8: {} samples, {} frames of V8, {} lines with a name; beside it {} "
                  "of {} whole",
                  of_forger, forged, named, whole, of_honest));
  EXPECT_GE(static_cast<uint64_t>(of_forger + of_honest), kSamples / 8);
  EXPECT_GT(of_forger, 0);
  EXPECT_GT(forged, 0) << "it was not taken for V8";
  EXPECT_GT(named, 0) << "nothing of its objects was read";
  EXPECT_GE(static_cast<double>(whole), 0.99 * static_cast<double>(of_honest));
}

}  // namespace
}  // namespace stackray::test
