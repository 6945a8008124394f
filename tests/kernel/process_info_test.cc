#include "kernel/process_info.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>

namespace stackray {
namespace {

const std::string kId(64, 'a');
const std::string kOther = std::string(63, '0') + "f";

TEST(CgroupPath, TheUnifiedHierarchyOrTheLongestOfV1) {
  EXPECT_EQ(CgroupPath("0::/system.slice/a.service\n"), "/system.slice/a.service");
  EXPECT_EQ(CgroupPath("12:cpu,cpuacct:/x\n1:name=systemd:/user.slice/long\n0::/init.scope\n"),
            "/init.scope");
  EXPECT_EQ(CgroupPath("12:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n0::/\n"), "/docker/abc");
  EXPECT_EQ(CgroupPath("0::/with:colon:s\n"), "/with:colon:s");
  EXPECT_EQ(CgroupPath("0::/\n"), "/");
  EXPECT_EQ(CgroupPath(""), "");
  EXPECT_EQ(CgroupPath("nonsense\n::\n"), "");
}

TEST(ContainerId, AsRuntimesWriteIt) {
  for (const std::string& path :
       {"/docker/" + kId, "/system.slice/docker-" + kId + ".scope",
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-" +
            kId + ".scope",
        "/kubepods/besteffort/pod2f1d0e3c-0000-0000-0000-000000000000/" + kId,
        "/machine.slice/libpod-" + kId + ".scope/container", "/crio-" + kId + ".scope",
        "/docker/" + kOther + "/docker/" + kId})
    EXPECT_EQ(ContainerId(path), kId) << path;
}

TEST(ContainerId, WhatIsNone) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/user.slice"), "/docker/" + kId.substr(1),
        "/docker/" + kId + "a", "/docker/" + kId.substr(1) + "g"})
    EXPECT_EQ(ContainerId(path), "") << path;
}

// Start of a process as /proc says it, read here in another way: by the stat of its folder's fields.
uint64_t StartTimeOf(pid_t pid) {
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  unsigned long long ticks = 0;
  if (file == nullptr) return 0;
  // The command of this test holds neither blanks nor brackets.
  if (fscanf(file,
             "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
             "%*d %*d %llu",
             &ticks) != 1)
    ticks = 0;
  fclose(file);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

TEST(ReadProcessInfo, OfOurselves) {
  const ProcessId id{.pid = static_cast<uint32_t>(getpid()),
                     .start_time_ns = StartTimeOf(getpid())};
  ASSERT_NE(id.start_time_ns, 0u);
  const ProcessInfo info = ReadProcessInfo(id, "given", 1'000);
  EXPECT_EQ(info.pid, id.pid);
  EXPECT_EQ(info.command, "given");
  EXPECT_EQ(info.creation_time_unix_ns, static_cast<int64_t>(id.start_time_ns) + 1'000);
  EXPECT_EQ(info.executable_path, std::filesystem::read_symlink("/proc/self/exe").string());
}

TEST(ReadProcessInfo, AnotherProcessUnderThePidTellsNothing) {
  const ProcessId id{.pid = static_cast<uint32_t>(getpid()),
                     .start_time_ns = StartTimeOf(getpid()) + 1'000'000'000};
  const ProcessInfo info = ReadProcessInfo(id, "other", 0);
  EXPECT_EQ(info.command, "other");
  EXPECT_EQ(info.executable_path, "");
  EXPECT_EQ(info.cgroup_path, "");
}

TEST(ReadProcessInfo, AProcessThatIsGoneLeavesWhatTheSampleSaid) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const ProcessInfo info =
      ReadProcessInfo({.pid = static_cast<uint32_t>(child), .start_time_ns = 5}, "gone", 10);
  EXPECT_EQ(info.pid, static_cast<uint32_t>(child));
  EXPECT_EQ(info.command, "gone");
  EXPECT_EQ(info.creation_time_unix_ns, 15);
  EXPECT_EQ(info.executable_path, "");
}

}  // namespace
}  // namespace stackray
