#include "agent/reports/report_target.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stackray {
namespace {

std::set<uint32_t> NoService(std::string_view) { return {}; }

TEST(ReportTarget, CgroupsOfBothVersions) {
  const std::string text = "4:memory:/shop/a\n1:name=systemd:/init.scope\n0::/shop.slice/b\n";
  for (const char* directory :
       {"/sys/fs/cgroup/memory/shop", "/sys/fs/cgroup/memory/shop/a", "/sys/fs/cgroup/shop.slice",
        "/sys/fs/cgroup/unified/shop.slice/b", "/sys/fs/cgroup/systemd/init.scope"})
    EXPECT_TRUE(IsInCgroup(text, directory)) << directory;
  for (const char* directory :
       {"/sys/fs/cgroup/memory/sho", "/sys/fs/cgroup/memory/shop/a/b", "/sys/fs/cgroup/shop",
        "/sys/fs/cgroup/cpu/shop", "/elsewhere", "/sys/fs/cgroup/memory/shop.slice"})
    EXPECT_FALSE(IsInCgroup(text, directory)) << directory;
  EXPECT_TRUE(IsInCgroup("0::/\n", "/sys/fs/cgroup"));
  EXPECT_FALSE(IsInCgroup("", "/sys/fs/cgroup"));
  EXPECT_FALSE(IsInCgroup("nonsense\n:\n", "/sys/fs/cgroup"));
}

TEST(ReportTarget, ProcessesUsersAndServices) {
  const auto own = static_cast<uint32_t>(getpid());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto descendant = static_cast<uint32_t>(child);
  const auto is_member = [](const TargetSettings& target, uint32_t pid) {
    const auto members =
        MembersOf(target, [](std::string_view) -> std::set<uint32_t> { return {1}; });
    return members.ok() && (*members)(pid);
  };
  EXPECT_TRUE(is_member({.kind = TargetKind::kPids, .pids = {own}}, descendant));
  EXPECT_FALSE(is_member({.kind = TargetKind::kPids, .pids = {own}, .inherit = false}, descendant));
  EXPECT_FALSE(is_member({.kind = TargetKind::kPids, .pids = {descendant}}, own));
  EXPECT_TRUE(is_member({.kind = TargetKind::kUser, .uid = geteuid()}, own));
  EXPECT_FALSE(is_member({.kind = TargetKind::kUser, .uid = 54321}, own));
  EXPECT_TRUE(is_member({.kind = TargetKind::kService, .service_name = "shop"}, 1));
  EXPECT_FALSE(is_member({.kind = TargetKind::kService, .service_name = "shop"}, own));
  EXPECT_TRUE(is_member({.kind = TargetKind::kCommandName, .command_name = "reports_test"}, own));
  EXPECT_FALSE(is_member({.kind = TargetKind::kCommandName, .command_name = "reports"}, own));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(ReportTarget, WhatIsNoTargetIsRefused) {
  const auto whole = MembersOf({}, &NoService);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(*whole);
  EXPECT_TRUE(absl::IsNotFound(
      MembersOf({.kind = TargetKind::kCgroup, .cgroup_path = "/no/such"}, &NoService).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      MembersOf({.kind = TargetKind::kLabel, .label = "a=b"}, &NoService).status()));
}

}  // namespace
}  // namespace stackray
