// Storms of processes that live for milliseconds: every expected sample is there, its stack goes to
// the program's start, and the process has its name. Short here; STACKRAY_STORM_SECONDS=20 as a
// proof.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/live/sampled_run.h"
#include "tests/live/storms/recorded_storm.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kShortSeconds = 4;
constexpr double kProofSeconds = 15;  // Shorter runs are first touches mostly.

double StormSeconds() {
  const char* text = std::getenv("STACKRAY_STORM_SECONDS");
  return text != nullptr ? std::atof(text) : kShortSeconds;
}

double Percent(int64_t part, int64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

void PrintKinds(const char* title, const std::map<std::string, int64_t>& kinds) {
  for (const auto& [kind, count] : kinds) fmt::print("{}: {} times {}\n", title, count, kind);
}

void Print(const std::string& name, const RecordedStorm& storm) {
  for (const auto& [command, expected] : storm.expected) {
    const auto found = storm.seen.classes().find(command);
    const StormClass seen = found != storm.seen.classes().end() ? found->second : StormClass{};
    const tick_count& ticks = expected.ticks;
    fmt::print(
        "{:14} expected {} (user {}, kernel {}, in exec {}, no memory {}), seen {}, with a user "
        "stack {}, complete {}, to the entry {}, with its executable {}, of unopened files {}\n",
        command, expected.samples(), ticks.user, ticks.kernel, ticks.in_exec, ticks.no_memory,
        seen.samples, seen.with_user_stack, seen.complete, seen.to_entry, seen.with_executable,
        seen.unopened);
  }
  PrintKinds("cut", storm.seen.cut());
  PrintKinds("root", storm.seen.other_roots());
  PrintKinds("unopened", storm.seen.unopened());
  const StormClass sum = storm.seen.sum();
  Measured(fmt::format(
      "{}: {:.0f} processes in {:.1f} s; {} of {} expected samples ({:.2f} %), {:.2f} % complete, "
      "{:.2f} % to the entry point, {:.2f} % with their executable, {} of unopened files, {} "
      "lost; profiler's CPU {:.2f} s, {:.3f} ms a process; the storm was {:.0f} % of the load",
      name, storm.processes, storm.seconds, sum.samples, storm.expected_samples(),
      storm.seen_percent(), Percent(sum.complete, sum.with_user_stack),
      Percent(sum.to_entry, sum.with_user_stack), Percent(sum.with_executable, sum.samples),
      sum.unopened, storm.seen.lost(), storm.profiler_cpu_s,
      1000 * storm.profiler_cpu_s / storm.processes, 100 * storm.share()));
}

// `percent` of the expected samples are there, and no marker says that one was lost.
void ExpectSeen(const RecordedStorm& storm, double percent) {
  const double expected = static_cast<double>(storm.expected_samples());
  EXPECT_GE(static_cast<double>(storm.seen.sum().samples),
            percent / 100 * expected - storm.chance_samples());
  EXPECT_EQ(storm.seen.lost(), 0);
}

std::vector<std::string> Burners(int milliseconds) {
  std::vector<std::string> names;
  for (const char* kind : {"dyn", "dyn_s", "stat", "stat_s"})
    names.push_back(fmt::format("burn{}_{}", milliseconds, kind));
  return names;
}

// One after another, from a shell.
StormPlan BackToBack() {
  StormPlan plan{.frequency_hz = 99, .seconds = StormSeconds(), .commands = Burners(20)};
  std::string round;
  for (const std::string& name : plan.commands) round += ProgramPath(name) + "; ";
  plan.command = "n=0; while ! [ -e STOP ]; do " + round +
                 fmt::format("n=$((n+{})); done; echo $n > COUNT", plan.commands.size());
  return plan;
}

TEST(Storm, A20MsPrograms) {
  const absl::StatusOr<RecordedStorm> storm = RecordStorm(BackToBack());
  if (absl::IsFailedPrecondition(storm.status())) GTEST_SKIP() << storm.status();
  ASSERT_TRUE(storm.ok()) << storm.status();
  Print("storm A", *storm);
  const StormClass sum = storm->seen.sum();
  ASSERT_GT(storm->expected_samples(), 100u) << "too few to say anything";
  ExpectSeen(*storm, 98);
  EXPECT_GE(Percent(sum.to_entry, sum.with_user_stack), 97);
  EXPECT_EQ(sum.with_executable, sum.samples);
}

TEST(Storm, ACost) {
  const absl::StatusOr<RecordedStorm> storm = WatchStorm(BackToBack());
  if (absl::IsFailedPrecondition(storm.status())) GTEST_SKIP() << storm.status();
  ASSERT_TRUE(storm.ok()) << storm.status();
  const double all = 1000 * storm->profiler_cpu_s / storm->processes;
  const double milliseconds = all * storm->share();  // What other load costs is not the storm's.
  Measured(
      fmt::format("storm A under the agent: {:.3f} ms of its CPU a process, {:.3f} with the {:.0f} "
                  "% of other load, {:.0f} processes",
                  milliseconds, all, 100 * (1 - storm->share()), storm->processes));
  EXPECT_LE(milliseconds, storm->seconds >= kProofSeconds ? 0.22 : 0.5);
}

TEST(Storm, B2MsPrograms) {
  StormPlan plan{.frequency_hz = 999, .seconds = StormSeconds(), .commands = Burners(2)};
  plan.command = ProgramPath("start_rate") + " 200 STOP";
  for (const std::string& name : plan.commands) plan.command += " " + ProgramPath(name);
  plan.command += " > COUNT";
  const absl::StatusOr<RecordedStorm> storm = RecordStorm(plan);
  if (absl::IsFailedPrecondition(storm.status())) GTEST_SKIP() << storm.status();
  ASSERT_TRUE(storm.ok()) << storm.status();
  Print("storm B", *storm);
  const StormClass sum = storm->seen.sum();
  ASSERT_GT(storm->expected_samples(), 400u) << "too few to say anything";
  ExpectSeen(*storm, 97);
  EXPECT_GE(Percent(sum.complete, sum.with_user_stack), 97);
}

TEST(Storm, CForksAndThreads) {
  StormPlan plan{.frequency_hz = 999, .seconds = StormSeconds(), .commands = {"forks_threads"}};
  plan.command = ProgramPath("forks_threads") + " STOP > COUNT";
  const absl::StatusOr<RecordedStorm> storm = RecordStorm(plan);
  if (absl::IsFailedPrecondition(storm.status())) GTEST_SKIP() << storm.status();
  ASSERT_TRUE(storm.ok()) << storm.status();
  Print("storm C", *storm);
  const StormClass sum = storm->seen.sum();
  ASSERT_GT(storm->expected_samples(), 400u) << "too few to say anything";
  ExpectSeen(*storm, 97);
  EXPECT_GE(Percent(sum.complete, sum.with_user_stack), 97);
}

}  // namespace
}  // namespace stackray::test
