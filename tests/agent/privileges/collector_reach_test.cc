// What a container's root can reach of the host while collectors run in the container: nothing. A
// watcher inside looks all the time (reach_watcher.c). This test is the agent here: its program and
// its libraries are the host's files. Needs root, which skips by name.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "agent/privileges/capability_set.h"
#include "agent/privileges/collector_client.h"
#include "agent/privileges/collector_process.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kWatcher[] = STACKRAY_BINARY_DIR "/reach_watcher";
constexpr int kRuns = 10;

class Container : public testing::Test {
 protected:
  void SetUp() override {
    const auto own = OwnPrivileges();
    if (geteuid() != 0 || !own || !own->effective.Has(Capability::kSysAdmin))
      GTEST_SKIP() << "needs root";
    char name[] = "/tmp/stackray-reach-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* inside : {"files/bin", "files/old", "files/proc", "root"})
      std::filesystem::create_directories(folder_ / inside);
    std::filesystem::copy_file(kWatcher, folder_ / "files/watcher");
    CopyOwnLibraries();
  }
  void TearDown() override {
    Stop();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // So that this program could run inside, if it came there.
  void CopyOwnLibraries() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const size_t slash = line.find('/');
      if (slash == std::string::npos || line.find(".so") == std::string::npos) continue;
      const std::filesystem::path from = line.substr(slash);
      std::vector<std::filesystem::path> names = {from};
      if (from.filename().string().starts_with("ld-linux"))
        names.emplace_back("/lib64/" + from.filename().string());
      for (const auto& each : names) {
        const std::filesystem::path to = folder_ / "files" / each.relative_path();
        std::filesystem::create_directories(to.parent_path());
        std::filesystem::copy_file(from, to, std::filesystem::copy_options::skip_existing);
      }
    }
  }

  void Script(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ / "files" / path;
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms(0755));
  }

  void Start() {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    outside_ = fork();
    if (outside_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const std::string files = folder_ / "files", root = folder_ / "root";
      execl(kWatcher, "reach_watcher", files.c_str(), root.c_str(), nullptr);
      _exit(1);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    char line[64] = "";
    ASSERT_NE(fgets(line, sizeof(line), output_), nullptr);
    ASSERT_EQ(sscanf(line, "pid %d", &inside_), 1) << line;
    ASSERT_NE(fgets(line, sizeof(line), output_), nullptr);
    ASSERT_STREQ(line, "watching\n");
  }
  // What the watcher said.
  std::string Stop() {
    client_.reset();
    std::string text;
    if (outside_ <= 0) return text;
    if (inside_ > 0) kill(inside_, SIGKILL);
    for (char part[4096]; output_ != nullptr && fgets(part, sizeof(part), output_) != nullptr;)
      text += part;
    kill(outside_, SIGKILL);
    waitpid(outside_, nullptr, 0);
    outside_ = inside_ = -1;
    fclose(output_);
    return text;
  }

  void Load(const std::vector<CollectorEntry>& collectors) {
    absl::StatusOr<HelperProcess> process = ForkCollectors(collectors);
    ASSERT_TRUE(process.ok()) << process.status();
    client_ = std::make_unique<CollectorClient>(*std::move(process), collectors);
  }
  absl::StatusOr<Collected> Run(size_t which) {
    return client_->Run(which, static_cast<uint32_t>(inside_), [] { return true; });
  }

  std::filesystem::path folder_;
  pid_t outside_ = -1, inside_ = -1;
  FILE* output_ = nullptr;
  std::unique_ptr<CollectorClient> client_;
};

TEST_F(Container, ReachesNothingOfTheHostWhileCollectorsRun) {
  Script("bin/jcmd", "#!/proc/self/exe\n");
  Start();
  Load({{.name = "own", .exec = {"/watcher", "command"}},
        {.name = "itself", .exec = {"/bin/jcmd"}}});
  for (int i = 0; i < kRuns; ++i) {
    const absl::StatusOr<Collected> own = Run(0);
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_EQ(own->text, "0\n1\n2\n");
    // What it executes is the program that entered the container, which does nothing there.
    const absl::StatusOr<Collected> itself = Run(1);
    EXPECT_FALSE(itself.ok() && itself->end.ok());
  }
  const std::string said = Stop();
  EXPECT_THAT(said, Not(HasSubstr("foreign")));
  EXPECT_THAT(said, HasSubstr("seen entry"));
  EXPECT_THAT(said, HasSubstr("seen command"));
}

TEST_F(Container, CollectorsGetNoUserNamespace) {
  Start();
  Load({{.name = "try", .exec = {"/watcher", "namespaces"}}});
  const absl::StatusOr<Collected> collected = Run(0);
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->text, fmt::format("{0}\n{0}\n{1}\n", strerror(EPERM), strerror(ENOSYS)));
}

// Of cgroup v1, where rules are text. A container's root can make a node of any device; the cgroup
// keeps it from opening one.
TEST_F(Container, ItsDeviceRulesBindCollectors) {
  const std::filesystem::path cgroup =
      fmt::format("/sys/fs/cgroup/devices/stackray-test-{}", getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(cgroup, error))
    GTEST_SKIP() << "needs the controller devices";
  ASSERT_EQ(mknod((folder_ / "files/zero").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
  Start();
  Load({{.name = "open", .exec = {"/watcher", "open", "/zero"}}});
  const absl::StatusOr<Collected> before = Run(0);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->text, "opened\n");
  std::ofstream(cgroup / "devices.deny") << "a" << std::flush;
  std::ofstream(cgroup / "cgroup.procs") << inside_ << std::flush;
  const absl::StatusOr<Collected> after = Run(0);
  Stop();
  std::filesystem::remove(cgroup, error);
  EXPECT_FALSE(error) << error.message();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->text, "Operation not permitted\n");
}

}  // namespace
}  // namespace stackray
