// The experiments on this very machine. What needs root skips without it.
#include "agent/doctor/live_host_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/doctor/doctor.h"
#include "agent/doctor/render.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

size_t CountFiles(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST(LiveHostProbe, LeavesNothingBehind) {
  const LiveHostProbe probe;
  const size_t before = CountFiles("/proc/self/fd");
  Examine(probe);
  EXPECT_EQ(CountFiles("/proc/self/fd"), before);
}

TEST(LiveHostProbe, RootFindsTheHostFitOrSaysWhyNot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  // Whoever runs the live tests can sample; then the doctor must not say otherwise.
  if (!LiveHostProbe().LoadPerfProgram().ok()) GTEST_SKIP() << "BPF is not allowed here";
  const Findings findings = Examine(LiveHostProbe());
  EXPECT_TRUE(SamplingPossible(findings)) << RenderText(findings);
}

// In a child, since the change of user cannot be undone.
TEST(LiveHostProbe, AnOrdinaryUserIsToldWhatIsMissing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become someone else";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    const Findings findings = Examine(LiveHostProbe());
    const auto blocks = [&](const char* id) {
      const auto found = std::ranges::find(findings, id, &Finding::id);
      return found != findings.end() && found->level == FindingLevel::kBlocking;
    };
    _exit(blocks("capability.bpf") && blocks("capability.perfmon") && blocks("bpf_load") &&
                  !SamplingPossible(findings)
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LiveHostProbe, NoticesATakenPort) {
  const UniqueFd taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(taken.get(), generic, size), 0);
  ASSERT_EQ(listen(taken.get(), 1), 0);
  ASSERT_EQ(getsockname(taken.get(), generic, &size), 0);
  EXPECT_EQ(LiveHostProbe().ListenOn(ntohs(address.sin_port)).error, EADDRINUSE);
}

TEST(LiveHostProbe, TriesTheNearestFolderThatExistsAndCleansUp) {
  const std::string folder = testing::TempDir() + fmt::format("stackray-doctor-{}", getpid());
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  EXPECT_TRUE(LiveHostProbe().WriteBelow(folder + "/not/there").ok());
  EXPECT_EQ(CountFiles(folder), 0u);
  std::filesystem::remove(folder);
  EXPECT_FALSE(LiveHostProbe().WriteBelow("/proc/self/nowhere").ok());
}

TEST(LiveHostProbe, ReadsAtMostTheLimit) {
  EXPECT_EQ(LiveHostProbe().ReadText("/proc/self/status", 10)->size(), 10u);
  EXPECT_EQ(LiveHostProbe().ReadText("/nonexistent", 10).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace stackray
