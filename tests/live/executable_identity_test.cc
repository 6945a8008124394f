// The file that really ran, whatever lies under its name by now and in whichever mount namespace:
// names and build id of the version that was sampled, and a path without additions.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/wall_clock.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 150;
constexpr uint64_t kTimeoutNs = 30'000'000'000;

// What a batch must say about a program's own code.
struct Expected {
  std::string function, file;  // The file with the same bytes, for its build id.
  std::string path;            // As the process sees it.
};

std::string BuildIdOf(const std::string& file) {
  for (const std::string& line : RunLines("readelf -n '" + file + "'"))
    if (const size_t at = line.find("Build ID: "); at != std::string::npos)
      return line.substr(at + 10);
  return "";
}

void CopyOver(const std::string& from, const std::string& to) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
}

uint64_t InodeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

class ExecutableIdentity : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<SampledRun>> run =
        SampledRun::Start(kFrequencyHz, {static_cast<uint32_t>(getpid())});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    run_ = *std::move(run);
  }

  // Starts it and waits until it runs `path`. A program that ends instead ends the test.
  TargetProgram* Start(const std::vector<std::string>& argv, const std::string& path) {
    programs_.push_back(std::make_unique<TargetProgram>(TargetProgram::Start(argv)));
    TargetProgram* program = programs_.back().get();
    const uint64_t end_ns = BootTimeNs() + 10'000'000'000;
    std::error_code error;
    while (BootTimeNs() < end_ns && !program->Poll()) {
      const std::string link = fmt::format("/proc/{}/exe", program->pid());
      const std::string target = std::filesystem::read_symlink(link, error).string();
      if (target == path || target == path + " (deleted)") return program;
      usleep(1000);
    }
    programs_.pop_back();
    return nullptr;
  }
  void End(TargetProgram* program) {
    std::erase_if(programs_, [&](const auto& p) { return p.get() == program; });
  }

  static bool IsOpenHere(uint64_t inode) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      if (InodeOf(entry.path().string()) == inode) return true;
    return false;
  }
  // Samples on until the session has closed a file that is deleted.
  bool WaitUntilClosed(uint64_t inode) {
    const uint64_t end_ns = BootTimeNs() + 60'000'000'000;
    while (IsOpenHere(inode) && BootTimeNs() < end_ns) run_->Run(500);
    return !IsOpenHere(inode);
  }

  // Until each program that runs has been seen often enough: on a busy machine one may get little
  // of the CPU for a while.
  void Sample() {
    const uint64_t end_ns = BootTimeNs() + kTimeoutNs;
    bool enough = false;
    while (!enough && BootTimeNs() < end_ns) {
      run_->Run(500);
      enough = std::ranges::all_of(programs_, [&](const auto& program) {
        return StacksOf(program->pid()) >= static_cast<int64_t>(kSamples);
      });
    }
  }
  int64_t StacksOf(uint32_t pid) const {
    int64_t sum = 0;
    for (const SeenStack& stack : run_->stacks())
      if (stack.pid == pid && !stack.user.empty()) sum += stack.count;
    return sum;
  }

  // The stacks of `pid` whose leaf is user code of a file other than the C library.
  void Expect(const std::string& what, uint32_t pid, const Expected& expected) {
    const std::string build_id = BuildIdOf(expected.file);
    int64_t all = 0, right = 0;
    std::string wrong;
    for (const SeenStack& stack : run_->stacks()) {
      if (stack.pid != pid || stack.user.empty() || !stack.kernel.empty()) continue;
      const DecodedFrame& leaf = stack.user.front();
      const std::string name = stack.UserNames().front();
      // The loader's and libc's own functions at the start are somebody else's files.
      if (leaf.mapping_path.find("/ld-linux") != std::string::npos ||
          leaf.mapping_path.find("/libc.so") != std::string::npos)
        continue;
      all += stack.count;
      if (name == expected.function && leaf.mapping_path == expected.path &&
          leaf.build_id == build_id)
        right += stack.count;
      else
        wrong = fmt::format("{} {} {}", leaf.mapping_path, leaf.build_id, name);
    }
    Measured(fmt::format("{}: {} of {} samples are {} of {}", what, right, all, expected.function,
                         expected.path));
    EXPECT_FALSE(build_id.empty());
    EXPECT_GE(all, static_cast<int64_t>(kSamples / 4)) << "too few samples to say anything";
    EXPECT_GE(right * 100, all * 98) << wrong;
  }

  const std::string one_ = ProgramPath("version_one"), two_ = ProgramPath("version_two");
  const TemporaryDirectory directory_;
  std::unique_ptr<SampledRun> run_;
  std::vector<std::unique_ptr<TargetProgram>> programs_;
};

TEST_F(ExecutableIdentity, ReplacedWhileRunning) {
  const std::string path = directory_.File("service"), update = directory_.File("update");
  CopyOver(one_, path);
  TargetProgram* old = Start({path}, path);
  ASSERT_NE(old, nullptr);
  CopyOver(two_, update);
  std::filesystem::rename(update, path);
  TargetProgram* replaced = Start({path}, path);
  ASSERT_NE(replaced, nullptr);
  Sample();
  Expect("replaced: what runs on", old->pid(), {"VersionOneWork", one_, path});
  Expect("replaced: what was started since", replaced->pid(), {"VersionTwoWork", two_, path});
}

TEST_F(ExecutableIdentity, DeletedAndNamedSo) {
  const std::string path = directory_.File("gone"), odd = directory_.File("kept (deleted)");
  CopyOver(one_, path);
  CopyOver(two_, odd);
  TargetProgram* gone = Start({path}, path);
  TargetProgram* kept = Start({odd}, odd);
  ASSERT_TRUE(gone != nullptr && kept != nullptr);
  std::filesystem::remove(path);
  Sample();
  Expect("deleted", gone->pid(), {"VersionOneWork", one_, path});
  Expect("named as if deleted", kept->pid(), {"VersionTwoWork", two_, odd});
}

TEST_F(ExecutableIdentity, MemoryWithoutAFile) {
  const std::string path = "/memfd:a_name_for_memory";
  TargetProgram* program = Start({ProgramPath("run_from_memory"), one_}, path);
  ASSERT_NE(program, nullptr);
  TargetProgram* host = Start({ProgramPath("run_from_memory"), "-l", ProgramPath("libplugin.so")},
                              ProgramPath("run_from_memory"));
  ASSERT_NE(host, nullptr);
  Sample();
  Expect("memfd program", program->pid(), {"VersionOneWork", one_, path});
  Expect("memfd library", host->pid(), {"PluginLeaf", ProgramPath("libplugin.so"), path});
}

// Two containers of one image: overlay mounts over one lower directory, each in a mount namespace
// of its own. A third one has replaced the file in its own layer.
TEST_F(ExecutableIdentity, ContainersShareAFile) {
  std::filesystem::create_directories(directory_.File("lower"));
  CopyOver(one_, directory_.File("lower/service"));
  std::vector<TargetProgram*> containers;
  std::vector<std::string> paths;
  for (const char* name : {"a", "b", "c"}) {
    const std::string root = directory_.File(name), merged = root + "/merged";
    for (const char* part : {"/upper", "/work", "/merged"})
      std::filesystem::create_directories(root + part);
    if (*name == 'c') CopyOver(two_, root + "/upper/service");
    const std::string mount =
        fmt::format("mount -t overlay overlay -o lowerdir={},upperdir={}/upper,workdir={}/work {}",
                    directory_.File("lower"), root, root, merged);
    paths.push_back(merged + "/service");
    containers.push_back(Start({"unshare", "-m", "--propagation", "private", "sh", "-c",
                                fmt::format("{} && exec {}", mount, paths.back())},
                               paths.back()));
    if (containers.back() == nullptr) GTEST_SKIP() << "overlayfs cannot be mounted here";
    if (*name == 'c') break;
    Sample();
  }
  Sample();
  Expect("container a", containers[0]->pid(), {"VersionOneWork", one_, paths[0]});
  // One file, one mapping: the path is the one by which it was met first.
  Expect("container b", containers[1]->pid(), {"VersionOneWork", one_, paths[0]});
  Expect("container c", containers[2]->pid(), {"VersionTwoWork", two_, paths[2]});
}

// In the process's mount namespace the path leads to another file than in ours.
TEST_F(ExecutableIdentity, BindMountInAnotherNamespace) {
  const std::string source = directory_.File("source"), path = directory_.File("service");
  CopyOver(one_, source);
  CopyOver(two_, path);
  TargetProgram* inside = Start({"unshare", "-m", "--propagation", "private", "sh", "-c",
                                 fmt::format("mount --bind {0} {1} && exec {1}", source, path)},
                                path);
  if (inside == nullptr) GTEST_SKIP() << "no bind mounts here";
  TargetProgram* outside = Start({path}, path);
  ASSERT_NE(outside, nullptr);
  Sample();
  Expect("bind mount", inside->pid(), {"VersionOneWork", one_, path});
  Expect("the same path outside", outside->pid(), {"VersionTwoWork", two_, path});
}

// An agent that keeps files open must not keep the space of deleted ones.
TEST_F(ExecutableIdentity, DeletedFilesAreLetGo) {
  const std::string path = directory_.File("service");
  CopyOver(one_, path);
  TargetProgram* program = Start({path}, path);
  ASSERT_TRUE(program != nullptr && Start({two_}, two_) != nullptr);
  const uint64_t inode = InodeOf(path);
  Sample();
  EXPECT_TRUE(IsOpenHere(inode));
  std::filesystem::remove(path);
  run_->Run(11'000);
  EXPECT_TRUE(IsOpenHere(inode)) << "while it runs";
  End(program);
  EXPECT_TRUE(WaitUntilClosed(inode));
}

// A file of the same size and time gets the inode number of one that was sampled before: only its
// generation differs.
TEST_F(ExecutableIdentity, InodeNumberUsedAgain) {
  const std::string path = directory_.File("service");
  CopyOver(one_, path);
  ASSERT_EQ(std::filesystem::file_size(one_), std::filesystem::file_size(two_));
  const auto time = std::filesystem::last_write_time(path);
  const uint64_t inode = InodeOf(path);
  TargetProgram* first = Start({path}, path);
  ASSERT_TRUE(first != nullptr && Start({two_}, two_) != nullptr);
  const uint32_t first_pid = first->pid();
  Sample();
  End(first);
  std::filesystem::remove(path);
  ASSERT_TRUE(WaitUntilClosed(inode));
  bool reused = false;
  for (int i = 0; i < 200 && !reused; ++i) {
    CopyOver(two_, path);
    reused = InodeOf(path) == inode;
    // Not removed: that would offer this number again.
    if (!reused) std::filesystem::rename(path, directory_.File(std::to_string(i)));
  }
  if (!reused) GTEST_SKIP() << "this file system does not use inode numbers again at once";
  std::filesystem::last_write_time(path, time);
  TargetProgram* second = Start({path}, path);
  ASSERT_NE(second, nullptr);
  Sample();
  Expect("first owner of the inode number", first_pid, {"VersionOneWork", one_, path});
  Expect("second owner of it", second->pid(), {"VersionTwoWork", two_, path});
}

TEST_F(ExecutableIdentity, WrittenAgainInMemory) {
  const std::string folder = fmt::format("/dev/shm/stackray-{}", getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error)) GTEST_SKIP() << "no tmpfs here";
  const std::string path = folder + "/service";
  std::vector<uint32_t> pids;
  for (const std::string& version : {one_, two_, one_}) {
    std::filesystem::remove(path, error);
    CopyOver(version, path);
    if (TargetProgram* program = Start({path}, path)) pids.push_back(program->pid());
  }
  Sample();
  std::filesystem::remove_all(folder, error);
  ASSERT_EQ(pids.size(), 3u);
  Expect("tmpfs, first", pids[0], {"VersionOneWork", one_, path});
  Expect("tmpfs, second", pids[1], {"VersionTwoWork", two_, path});
  Expect("tmpfs, third", pids[2], {"VersionOneWork", one_, path});
}

}  // namespace
}  // namespace stackray::test
