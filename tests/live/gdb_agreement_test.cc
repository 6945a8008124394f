// The sampler stops the program at the instruction it sampled, and gdb then looks at the same
// stack: every frame's program counter must be the same, and so must the names of the program's
// own functions.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "agent/sampling/markers.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/oracles/gdb_frames.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;

struct Agreement {
  int stops = 0, equal = 0, finished_here = 0;
  uint64_t frames = 0, equal_pcs = 0, names = 0, equal_names = 0;
  std::string first_problem;
};

void Compare(const RawStack& ours, const std::vector<GdbFrame>& gdb, Agreement* sum) {
  ++sum->stops;
  if (ours.finished_here) ++sum->finished_here;
  bool equal = ours.frames.size() == gdb.size();
  std::string problem;
  if (!equal)
    problem = fmt::format("{} frames (end: {}), gdb {}", ours.frames.size(), EndName(ours.end),
                          gdb.size());
  for (size_t i = 0; i < std::max(ours.frames.size(), gdb.size()); ++i) {
    ++sum->frames;
    if (i >= ours.frames.size() || i >= gdb.size()) continue;
    const bool same = ours.frames[i].pc == gdb[i].pc;
    sum->equal_pcs += same ? 1 : 0;
    equal &= same;
    if (!same && problem.empty())
      problem = fmt::format("frame {}: 0x{:x} {}, gdb 0x{:x} {}", i, ours.frames[i].pc,
                            ours.frames[i].name, gdb[i].pc, gdb[i].name);
    // Of libraries gdb may read separate debug files, whose names are other ones.
    if (!same || gdb[i].name.empty() || gdb[i].in_library || ours.frames[i].name.empty()) continue;
    ++sum->names;
    if (ours.frames[i].name == gdb[i].name) {
      ++sum->equal_names;
    } else if (problem.empty()) {
      problem = fmt::format("frame {}: name '{}', gdb '{}'", i, ours.frames[i].name, gdb[i].name);
    }
  }
  sum->equal += equal ? 1 : 0;
  if (sum->first_problem.empty()) sum->first_problem = problem;
}

int Stops() {
  const char* asked = std::getenv("STACKRAY_GDB_STOPS");
  return asked != nullptr ? std::atoi(asked) : 20;
}

class GdbAgreement : public testing::TestWithParam<const char*> {};

TEST_P(GdbAgreement, EveryFrameIsTheSame) {
  const TargetProgram program = TargetProgram::Start({ProgramPath(GetParam())});
  ASSERT_NE(program.pid(), 0u);
  usleep(200'000);  // Past the dynamic loader, whose stacks gdb reads before it knows its files.
  auto stacks = RawStacks::Start(kFrequencyHz, program.pid());
  if (!stacks.ok()) GTEST_SKIP() << "no BPF here: " << stacks.status();
  const std::unique_ptr<GdbFrames> gdb = GdbFrames::Start();
  ASSERT_NE(gdb, nullptr);
  std::mt19937 random(20260101);
  Agreement sum;
  for (int i = 0; i < Stops(); ++i) {
    usleep(static_cast<useconds_t>(random() % 30'000));
    const std::optional<RawStack> ours = (*stacks)->StopAtSample(kStopTimeoutMs);
    ASSERT_TRUE(ours.has_value()) << "the program did not stop at a sample, stop " << i;
    const std::vector<GdbFrame> frames = gdb->Ask(program.pid());
    if (frames.empty() && gdb->error() == "gdb has ended" && i == 0) GTEST_SKIP() << "no gdb here";
    ASSERT_FALSE(frames.empty()) << gdb->error();
    Compare(*ours, frames, &sum);
    kill(static_cast<pid_t>(program.pid()), SIGCONT);
  }
  Measured(
      fmt::format("{}: {} of {} stops agree with gdb in every frame; {} of {} frames by pc, {} of "
                  "{} names; {} walks finished in user space",
                  GetParam(), sum.equal, sum.stops, sum.equal_pcs, sum.frames, sum.equal_names,
                  sum.names, sum.finished_here));
  EXPECT_EQ(sum.equal, sum.stops) << sum.first_problem;
  EXPECT_EQ(sum.equal_pcs, sum.frames) << sum.first_problem;
  EXPECT_EQ(sum.equal_names, sum.names) << sum.first_problem;
}

INSTANTIATE_TEST_SUITE_P(Programs, GdbAgreement,
                         testing::Values("qsort_deep", "qsort_deep_stripped"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace stackray::test
