// A process that forges a JVM's structures, and changes them all the time: nothing hangs, only its
// own frames have wrong names, and another process is sampled as ever.
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

TEST(HotSpotForged, NothingHangsAndOthersAreSampled) {
  const std::string library =
      std::string(STACKRAY_BINARY_DIR) + "/tests/interpreters/" STACKRAY_FAKE_HOTSPOT;
  const TargetProgram forger = TargetProgram::Start({ProgramPath("forged_jvm"), library});
  const TargetProgram honest = TargetProgram::Start({ProgramPath("spin")});
  auto run = SampledRun::Start(kFrequencyHz, {forger.pid(), honest.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kSamples);
  (*run)->Stop();
  int64_t of_forger = 0, of_honest = 0, whole = 0, jvm_frames = 0;
  for (const SeenStack& stack : (*run)->stacks()) {
    if (stack.pid == forger.pid()) of_forger += stack.count;
    if (stack.pid != honest.pid()) {
      for (const DecodedFrame& frame : stack.user)
        jvm_frames += frame.type == "jvm" ? stack.count : 0;
      continue;
    }
    of_honest += stack.count;
    whole += stack.marker.empty() ? stack.count : 0;
    for (const DecodedFrame& frame : stack.user) EXPECT_NE(frame.type, "jvm");
  }
  Measured(fmt::format("forged JVM: {} samples, {} frames of a JVM; beside it {} of {} whole",
                       of_forger, jvm_frames, whole, of_honest));
  EXPECT_GE(static_cast<uint64_t>(of_forger + of_honest), kSamples / 8);
  EXPECT_GT(of_forger, 0);
  EXPECT_GT(jvm_frames, 0) << "it was not taken for a JVM";
  EXPECT_GE(static_cast<double>(whole), 0.99 * static_cast<double>(of_honest));
}

}  // namespace
}  // namespace stackray::test
