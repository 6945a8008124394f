// Which files count that a process names: those that its user may read, found without leaving its
// root, and never what is mounted over a file.
#include "kernel/user_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kNobody = 65534;

class UserFiles : public testing::Test {
 protected:
  UserFiles() {
    fs::create_directories(directory_.File("root/a/b"));
    directory_.Write("outside", "outside");
    directory_.Write("root/a/b/file", "text");
    EXPECT_EQ(chmod(directory_.path().c_str(), 0755), 0);
    root_ = UniqueFd(open(Path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  std::string Path(const std::string& path) { return directory_.File("root" + path); }
  void Mode(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(Path(path).c_str(), mode), 0); }
  // "ok", or why not.
  std::string Find(std::string_view path, const FileUser& user = {.uid = kNobody, .gid = kNobody},
                   FollowLinks links = FollowLinks::kAll) {
    const absl::StatusOr<UniqueFd> found = FindUserFile(root_.get(), path, user, links, 0);
    return found.ok() ? "ok" : std::string(found.status().message());
  }
  std::string List(std::string_view path, const FileUser& user) {
    const absl::StatusOr<std::vector<std::string>> found =
        ListUserDirectory(root_.get(), path, user, 100, 0);
    return found.ok() ? "ok" : std::string(found.status().message());
  }

  const test::TemporaryDirectory directory_;
  const FileUser owner_{.uid = geteuid(), .gid = getegid()}, other_{.uid = kNobody, .gid = kNobody};
  UniqueFd root_;
};

TEST_F(UserFiles, AFileThatTheUserMayRead) {
  EXPECT_EQ(Find("/a/b/file"), "ok");
  EXPECT_EQ(Find("a//./b/file"), "ok");
  EXPECT_EQ(Find("/a/b/file", Everybody()), "ok");
  const absl::StatusOr<UniqueFd> found =
      FindUserFile(root_.get(), "/a/b/file", other_, FollowLinks::kNone, 0);
  ASSERT_TRUE(found.ok());
  const absl::StatusOr<FoundUserFile> opened = OpenFound(found->get(), 0, 0);
  ASSERT_TRUE(opened.ok());
  char text[8] = {};
  EXPECT_EQ(read(opened->fd.get(), text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
}

TEST_F(UserFiles, EveryPartOfTheWayCounts) {
  Mode("/a/b/file", 0600);
  EXPECT_EQ(Find("/a/b/file"), "not its user's to read");
  EXPECT_EQ(Find("/a/b/file", Everybody()), "not its user's to read");
  EXPECT_EQ(Find("/a/b/file", owner_), "ok");
  Mode("/a/b/file", 0644);
  for (const char* directory : {"/a/b", "/a", ""}) {
    Mode(directory, 0700);
    EXPECT_EQ(Find("/a/b/file"), "not its user's to search") << directory;
    EXPECT_EQ(Find("/a/b/file", owner_), "ok") << directory;
    FileUser all = other_;
    all.reads_all = true;
    EXPECT_EQ(Find("/a/b/file", all), "ok") << directory;
    Mode(directory, 0711);  // Searched, and not listed.
    EXPECT_EQ(Find("/a/b/file"), "ok") << directory;
    Mode(directory, 0755);
  }
  // A way up does not pass over what may not be searched.
  fs::create_directory(Path("/closed"));
  Mode("/closed", 0700);
  EXPECT_EQ(Find("/closed/../a/b/file"), "not its user's to search");
}

TEST_F(UserFiles, LinksStayInTheRootAndAreFollowedAsAsked) {
  fs::create_symlink("../../outside", Path("/up"));
  fs::create_symlink(directory_.File("outside"), Path("/absolute"));
  fs::create_symlink("/a/b/file", Path("/link"));
  fs::create_symlink("/a", Path("/folder"));
  fs::create_symlink("loop", Path("/loop"));
  fs::create_symlink("/proc/self/exe", Path("/magic"));
  for (const char* out : {"/up", "/absolute", "/loop", "/magic", "/../../outside"})
    EXPECT_EQ(Find(out), "no such file") << out;
  EXPECT_EQ(Find("/link"), "ok");
  EXPECT_EQ(Find("/folder/b/file"), "ok");
  EXPECT_EQ(Find("/a/b/../../../../link"), "ok");
  EXPECT_EQ(Find("/link", other_, FollowLinks::kOfDirectories), "symbolic link");
  EXPECT_EQ(Find("/folder/b/file", other_, FollowLinks::kOfDirectories), "ok");
  EXPECT_EQ(Find("/folder/b/file", other_, FollowLinks::kNone), "symbolic link");
  // What a link leads to is asked for like any other.
  Mode("/a/b/file", 0600);
  EXPECT_EQ(Find("/link"), "not its user's to read");
}

TEST_F(UserFiles, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo(Path("/fifo").c_str(), 0666), 0);
  EXPECT_EQ(Find("/fifo"), "no regular file");
  EXPECT_EQ(Find("/a/b"), "no regular file");
  EXPECT_EQ(Find("/a/b/file/x"), "no such file");
  EXPECT_EQ(Find("/nothing"), "no such file");
  for (const std::string& odd :
       {std::string(), std::string("/"), std::string(".."), std::string(5000, 'a'),
        std::string("/a\0/b", 5), std::string(300 * 2, '/') + "x"})
    EXPECT_EQ(Find(odd), "no such file") << odd.substr(0, 10);
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "/a";
  EXPECT_EQ(Find(deep), "no such file");
}

TEST_F(UserFiles, NothingOfTheKernels) {
  const UniqueFd slash(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const char* path : {"/proc/self/environ", "/proc/version", "/proc/1/root/etc/passwd"})
    EXPECT_EQ(FindUserFile(slash.get(), path, owner_, FollowLinks::kAll, 0).status().message(),
              "file of the kernel")
        << path;
}

TEST_F(UserFiles, DirectoriesToList) {
  EXPECT_EQ(List("/a/b", other_), "ok");
  EXPECT_EQ(List("/a/b/file", other_), "no such file");
  Mode("/a/b", 0711);
  EXPECT_EQ(List("/a/b", other_), "not its user's to read");
  Mode("/a/b", 0744);
  EXPECT_EQ(List("/a/b", other_), "not its user's to search");
}

// user::rw-, user:65534:---, group::r--, mask::r--, other::r-- as the kernel's
// include/uapi/linux/posix_acl_xattr.h lays it out: the mode says 0644, and nobody may not read.
TEST_F(UserFiles, AnAccessListIsItsOwnersAlone) {
  struct Entry {
    uint16_t tag, rights;
    uint32_t id;
  };
  struct {
    uint32_t version = 2;
    Entry entries[5] = {{1, 6, UINT32_MAX},
                        {2, 0, kNobody},
                        {4, 4, UINT32_MAX},
                        {16, 4, UINT32_MAX},
                        {32, 4, UINT32_MAX}};
  } list;
  const std::string file = Path("/a/b/file");
  if (setxattr(file.c_str(), "system.posix_acl_access", &list, sizeof(list), 0) != 0)
    GTEST_SKIP() << "no access lists here: " << strerror(errno);
  EXPECT_EQ(Find("/a/b/file"), "not its user's to read");
  EXPECT_EQ(Find("/a/b/file", Everybody()), "not its user's to read");
  EXPECT_EQ(Find("/a/b/file", owner_), "ok");
}

TEST_F(UserFiles, CheckingAFileWithoutAWay) {
  const UniqueFd file(open(Path("/a/b/file").c_str(), O_PATH | O_CLOEXEC));
  EXPECT_TRUE(CheckUserFile(file.get(), other_, 0).ok());
  Mode("/a/b/file", 0711);  // As a program that may be run and not read.
  EXPECT_FALSE(CheckUserFile(file.get(), other_, 0).ok());
  EXPECT_TRUE(CheckUserFile(file.get(), owner_, 0).ok());
}

// Runs `body` in a mount namespace of its own. False: there is none to be had.
bool InOwnMounts(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      _exit(77);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77) << WEXITSTATUS(status);
  return WEXITSTATUS(status) != 77;
}

// Whoever can mount may put any file there that he can name.
TEST_F(UserFiles, WhatIsMountedOverAFileIsRefused) {
  const bool done = InOwnMounts([&] {
    const std::string file = Path("/a/b/file"), outside = directory_.File("outside");
    FileUser all = other_;
    all.reads_all = true;
    const auto open_root = [&] {  // A descriptor stays in the mounts that it was opened in.
      root_ = UniqueFd(open(Path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    };
    open_root();
    if (mount(outside.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    for (const FileUser& user : {other_, owner_, Everybody(), all})
      if (Find("/a/b/file", user) != "mounted over a file") return 1;
    // A file under a mounted directory is in its place.
    if (umount(file.c_str()) != 0) return 2;
    if (mount(Path("/a/b").c_str(), Path("/a").c_str(), nullptr, MS_BIND, nullptr) != 0) return 3;
    if (Find("/a/file") != "ok" || List("/a", other_) != "ok") return 4;
    // The root itself may be one.
    if (mount(Path("").c_str(), Path("").c_str(), nullptr, MS_BIND, nullptr) != 0) return 5;
    open_root();
    return Find("/a/b/file") == "ok" ? 0 : 6;
  });
  if (!done) GTEST_SKIP() << "no mounts here";
}

TEST(ProcessPlace, OfThisProcessAndOfNone) {
  const ProcessPlace own = OpenProcessPlace("/proc", static_cast<uint32_t>(getpid()));
  EXPECT_TRUE(own.root.valid() && own.working_directory.valid());
  EXPECT_EQ(own.user.uid, geteuid());
  const ProcessPlace none = OpenProcessPlace("/proc", 1 << 30);
  EXPECT_FALSE(none.root.valid() || none.working_directory.valid());
  EXPECT_EQ(none.user, Everybody());
}

}  // namespace
}  // namespace stackray
