// One user floods the host in each of seven ways while programs of another user run: the others'
// samples are all there, as a bare counter of ticks says, and named and whole as without a flood.
//
// STACKRAY_FLOOD_SECONDS, STACKRAY_FLOOD_HZ: how long and how often.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/storms/recorded_storm.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr int kFloodUser = 65534, kOtherUser = 64999;
constexpr double kShortSeconds = 4;
double FrequencyHz() {
  const char* text = std::getenv("STACKRAY_FLOOD_HZ");
  return text != nullptr ? std::atof(text) : 999;
}

double FloodSeconds() {
  const char* text = std::getenv("STACKRAY_FLOOD_SECONDS");
  return text != nullptr ? std::atof(text) : kShortSeconds;
}

double Part(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

// The flood has the first half of the CPUs, the others have the second one: what is missing of
// their samples was then lost, and not theirs to begin with.
std::string OnHalf(bool is_second) {
  const int64_t cpus = std::max<int64_t>(2, sysconf(_SC_NPROCESSORS_ONLN));
  return is_second ? fmt::format("taskset -c {}-{} ", cpus / 2, cpus - 1)
                   : fmt::format("taskset -c 0-{} ", cpus / 2 - 1);
}

// Programs of another user: some that live for a second or 20 ms of CPU time, and a script.
std::string Others() {
  const std::string as_other =
      OnHalf(true) +
      fmt::format("timeout 60 setpriv --reuid={0} --regid={0} --clear-groups ", kOtherUser);
  const std::string script =
      "import os\n"
      "def other_function(n):\n"
      "    return sum(i * i for i in range(n))\n"
      "while not os.path.exists('STOP'): other_function(20000)\n";
  return as_other + "" + ProgramPath("other_py") + " -c \"" + script + "\" & " + as_other +
         "sh -c 'while ! [ -e STOP ]; do " + ProgramPath("other_long") + "; done' & " + as_other +
         "sh -c 'while ! [ -e STOP ]; do " + ProgramPath("other_short") + "; done' & ";
}

// In the second hierarchy of groups, wherever it is mounted.
std::string GroupPath() {
  const std::string root = "/sys/fs/cgroup", unified = root + "/unified";
  return fmt::format("{}/stackray-flood-{}", std::filesystem::exists(unified) ? unified : root,
                     getpid());
}

StormPlan Plan(const std::string& flood) {
  StormPlan plan{.frequency_hz = FrequencyHz(),
                 .seconds = FloodSeconds(),
                 .commands = {"other_long", "other_short", "other_py"}};
  plan.command = Others();
  if (!flood.empty()) {
    plan.command +=
        fmt::format("{}{} {} {} STOP", OnHalf(false), ProgramPath("flood"), flood, kFloodUser);
    const std::string group = GroupPath();
    if (flood == "groups") plan.command += " " + group;
    if (flood == "files") plan.command += " " + ProgramPath("many_symbols");
    plan.command += " > COUNT; ";
    if (flood == "groups") plan.command += "rmdir " + group + "/* " + group + " 2>&-; ";
  }
  plan.command += "wait";
  return plan;
}

void Print(const std::string& name, const RecordedStorm& storm) {
  for (const auto& [command, expected] : storm.expected) {
    const auto found = storm.seen.classes().find(command);
    const StormClass seen = found != storm.seen.classes().end() ? found->second : StormClass{};
    fmt::print("{:12} expected {}, seen {}, complete {}, with its executable {}, unopened {}\n",
               command, expected.samples(), seen.samples, seen.complete, seen.with_executable,
               seen.unopened);
  }
  for (const auto& [kind, count] : storm.seen.cut()) fmt::print("{} times {}\n", count, kind);
  const StormClass sum = storm.seen.sum();
  Measured(fmt::format(
      "{}: {:.0f} made in {:.1f} s; others: {} of {} expected samples ({:.4f} ± {:.4f}), complete "
      "{:.4f}; {} lost of all; profiler's CPU {:.2f} s; others were {:.0f} % of the load",
      name, storm.processes, storm.seconds, sum.samples, storm.expected_samples(),
      storm.seen_percent() / 100, 3 / std::sqrt(static_cast<double>(storm.expected_samples())),
      Part(sum.complete, sum.with_user_stack), storm.seen.lost(), storm.profiler_cpu_s,
      100 * storm.share()));
}

class Flood : public testing::TestWithParam<const char*> {};

TEST_P(Flood, CostsItsOwnSamples) {
  const absl::StatusOr<RecordedStorm> storm = RecordStorm(Plan(GetParam()));
  if (absl::IsFailedPrecondition(storm.status())) GTEST_SKIP() << storm.status();
  ASSERT_TRUE(storm.ok()) << storm.status();
  Print(GetParam(), *storm);
  const StormClass sum = storm->seen.sum();
  const auto expected = static_cast<double>(storm->expected_samples());
  ASSERT_GT(expected, 200) << "too few to say anything";
  EXPECT_GE(static_cast<double>(sum.samples), 0.99 * expected - 3 * std::sqrt(expected));
  EXPECT_EQ(storm->seen.lost(), 0);
  EXPECT_GE(Part(sum.complete, sum.with_user_stack), 0.98);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Flood,
                         testing::Values("processes", "threads", "mappings", "names", "files",
                                         "labels", "groups"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace stackray::test
