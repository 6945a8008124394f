#include "agent/record/empty_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace stackray {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(WhyEmpty, ACommandThatIsShorterThanAPeriod) {
  EmptyRecording facts{.target = {.kind = TargetKind::kProgram, .program = {"true"}},
                       .seconds = 0.004,
                       .program_ended = true};
  EXPECT_THAT(WhyEmpty(facts),
              AllOf(HasSubstr("true ended after 4 ms"), HasSubstr("10.1 ms"), HasSubstr("-F 999")));
  facts.frequency_hz = 999;
  facts.seconds = 0.002;
  EXPECT_THAT(WhyEmpty(facts), AllOf(HasSubstr("every 1 ms"), Not(HasSubstr("-F"))));
  facts.seconds = 60;
  EXPECT_THAT(WhyEmpty(facts), AllOf(HasSubstr("true was not on a CPU"), HasSubstr("60.00 s")));
}

TEST(WhyEmpty, ANameThatNoProcessHas) {
  EmptyRecording facts{.target = {.kind = TargetKind::kCommandName, .command_name = "postgers"},
                       .seconds = 2,
                       .present = {{12, "bash"}, {13, "postgres"}}};
  EXPECT_THAT(WhyEmpty(facts), AllOf(HasSubstr("no process is named postgers"),
                                     HasSubstr("did you mean postgres?"), HasSubstr("ps -eo")));
  facts.target.command_name = "postgres";
  EXPECT_THAT(WhyEmpty(facts), HasSubstr("process 13 (postgres) was not on a CPU"));
}

TEST(WhyEmpty, ProcessesThatSleepOrAreLeftOut) {
  EmptyRecording facts{.target = {.kind = TargetKind::kPids, .pids = {7}, .inherit = false},
                       .seconds = 2,
                       .present = {{7, "postgres"}},
                       .left_out = 3};
  EXPECT_THAT(WhyEmpty(facts), AllOf(HasSubstr("process 7 (postgres) was not on a CPU"),
                                     HasSubstr("--no-inherit leaves 3")));
  facts.present.clear();
  facts.program_ended = true;
  facts.seconds = 0.005;
  EXPECT_THAT(WhyEmpty(facts), HasSubstr("process 7 ended after 5 ms"));
}

TEST(WhyEmpty, GroupsWithoutProcessesShortRecordingsAndLosses) {
  EmptyRecording facts{.target = {.kind = TargetKind::kCgroup, .cgroup_path = "/sys/fs/cgroup/x"},
                       .seconds = 2};
  EXPECT_THAT(WhyEmpty(facts), HasSubstr("no process is in cgroup /sys/fs/cgroup/x"));
  facts.target = {};
  EXPECT_THAT(WhyEmpty(facts), HasSubstr("no process of this host"));
  facts.seconds = 0.01;
  EXPECT_THAT(WhyEmpty(facts), AllOf(HasSubstr("took 10 ms"), HasSubstr("-d")));
  facts.lost = 5;
  EXPECT_THAT(WhyEmpty(facts), HasSubstr("all 5 samples were lost"));
}

TEST(LookAtTarget, FindsTheTreeAndWhatIsLeftOutOfIt) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  TargetSettings target{.kind = TargetKind::kPids, .pids = {static_cast<uint32_t>(getpid())}};
  const EmptyRecording tree = LookAtTarget(target, 99, 1);
  target.inherit = false;
  const EmptyRecording alone = LookAtTarget(target, 99, 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(tree.present.size(), 2u);
  EXPECT_EQ(tree.left_out, 0u);
  ASSERT_EQ(alone.present.size(), 1u);
  EXPECT_EQ(alone.present[0].pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(alone.left_out, 1u);
}

}  // namespace
}  // namespace stackray
