// Which files of a JIT compiler count, and which are refused.
#include "interpreters/jit/jit_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stackray {
namespace {

class JitFile : public testing::Test {
 protected:
  JitFile() {
    std::string pattern = testing::TempDir() + "/jit_file_XXXXXX";
    root_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(root_ + "/tmp");
    owner_ = *ReadJitFileOwner(static_cast<uint32_t>(getpid()));
    place_ = OpenProcessPlace("/proc", static_cast<uint32_t>(getpid()));
    place_.root = UniqueFd(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~JitFile() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name) { std::ofstream(root_ + name) << "1000 10 f\n"; }
  std::string Open(int64_t oldest_ns = 0) {
    const absl::StatusOr<UniqueFd> fd = OpenJitFile(place_, "tmp/perf-7.map", owner_, oldest_ns);
    if (absl::IsNotFound(fd.status())) return "none";
    return fd.ok() ? "open" : std::string(fd.status().message());
  }
  std::string root_;
  JitFileOwner owner_;
  ProcessPlace place_;
};

TEST_F(JitFile, OpensTheUsersOwn) {
  EXPECT_EQ(Open(), "none");
  Write("/tmp/perf-7.map");
  EXPECT_EQ(Open(), "open");
}

TEST_F(JitFile, RefusesSymbolicLinks) {
  Write("/tmp/other");
  std::filesystem::create_symlink("other", root_ + "/tmp/perf-7.map");
  EXPECT_EQ(Open(), "symbolic link");
}

TEST_F(JitFile, FollowsNoLinkOutOfTheRoot) {
  std::filesystem::remove(root_ + "/tmp");
  std::filesystem::create_symlink("/", root_ + "/tmp");
  Write("/perf-7.map");
  EXPECT_EQ(Open(), "open");  // The root's own, and not the host's.
}

// An open for reading would wait until somebody writes.
TEST_F(JitFile, RefusesFifosAndDirectories) {
  ASSERT_EQ(mkfifo((root_ + "/tmp/perf-7.map").c_str(), 0666), 0);
  EXPECT_EQ(Open(), "no regular file");
  std::filesystem::remove(root_ + "/tmp/perf-7.map");
  std::filesystem::create_directory(root_ + "/tmp/perf-7.map");
  EXPECT_EQ(Open(), "no regular file");
}

TEST_F(JitFile, RefusesAnotherUsers) {
  Write("/tmp/perf-7.map");
  owner_.uids = {getuid() + 1};
  if (getuid() == 0) {  // Root's counts for everybody.
    EXPECT_EQ(Open(), "open");
    ASSERT_EQ(chown((root_ + "/tmp/perf-7.map").c_str(), 12'345, 12'345), 0);
  }
  EXPECT_EQ(Open(), "another user's");
}

// A container's root may write such a file with a mode that its other users cannot read.
TEST_F(JitFile, RefusesWhatItsUserMayNotRead) {
  Write("/tmp/perf-7.map");
  const std::string path = root_ + "/tmp/perf-7.map";
  place_.user = {.uid = getuid() + 1, .gid = getgid() + 1};
  owner_.uids = {getuid() + 1, getuid()};
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  EXPECT_EQ(Open(), "open");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(Open(), "not its user's to read");
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(chmod((root_ + "/tmp").c_str(), 0700), 0);
  EXPECT_EQ(Open(), "not its user's to search");
}

TEST_F(JitFile, RefusesWhatIsOlderThanTheProcess) {
  Write("/tmp/perf-7.map");
  struct stat info;
  ASSERT_EQ(stat((root_ + "/tmp/perf-7.map").c_str(), &info), 0);
  const int64_t written_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  EXPECT_EQ(Open(written_ns), "open");
  EXPECT_EQ(Open(written_ns + 1), "older than the process");
}

TEST_F(JitFile, FindsAJitDumpByItsMapping) {
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_TRUE(absl::IsNotFound(OpenMarkedJitDump(pid, owner_, place_.user).status()));
  const std::string path = root_ + "/jit-7.dump";
  Write("/jit-7.dump");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mark = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(mark, MAP_FAILED);
  std::filesystem::remove(path);  // The mapping still leads to it.
  const absl::StatusOr<UniqueFd> opened = OpenMarkedJitDump(pid, owner_, place_.user);
  ASSERT_TRUE(opened.ok()) << opened.status();
  struct stat mapped, found;
  EXPECT_EQ(fstat(fd.get(), &mapped) | fstat(opened->get(), &found), 0);
  EXPECT_EQ(mapped.st_ino, found.st_ino);
  munmap(mark, 4096);
}

TEST(JitFileNames, OfAJitDump) {
  EXPECT_TRUE(IsJitDumpPath("/home/me/jit-123.dump"));
  EXPECT_TRUE(IsJitDumpPath("/tmp/jit-1.dump (deleted)"));
  for (const char* const other : {"/tmp/jit-.dump", "/tmp/jit-1x.dump", "/tmp/jit-1.dump.gz", "",
                                  "/tmp/my-jit-1.dump", "/jit-1.dump/x"})
    EXPECT_FALSE(IsJitDumpPath(other)) << other;
}

TEST(JitFileNames, OfMemoryWithoutAFolder) {
  EXPECT_TRUE(IsMemoryFilePath("/memfd:doublemapper"));
  EXPECT_TRUE(IsMemoryFilePath("/memfd:doublemapper (deleted)"));
  for (const char* const other : {"", "/memfd", "memfd:x", "/tmp/memfd:x", "/dev/zero (deleted)"})
    EXPECT_FALSE(IsMemoryFilePath(other)) << other;
}

TEST(JitFileOwners, TheInnermostNumberCounts) {
  const auto owner = ParseJitFileOwner("Name:\tx\nUid:\t1\t2\t3\t4\nNSpid:\t700\t12\t1\n");
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->inner_pid, 1U);
  EXPECT_EQ(owner->uids, (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_FALSE(ParseJitFileOwner("").has_value());
  EXPECT_FALSE(ParseJitFileOwner("Uid:\tx\nNSpid:\t1\n").has_value());
}

}  // namespace
}  // namespace stackray
