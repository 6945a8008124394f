// Files and links that another user has laid ready in a folder where everybody may put files. The
// kernel's own settings against it need not be on. Needs root, which skips by name.
#include "agent/record/output_place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/record/output_file.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kOther = 54321, kSudo = 54322;
constexpr mode_t kLikeTmp = 01777;

class OutputPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    shared_ = directory_.File("shared");
    fs::create_directory(shared_);
    ASSERT_EQ(chmod(shared_.c_str(), kLikeTmp), 0);
    secret_ = directory_.Write("secret", "root's");
  }

  std::string Lay(const std::string& name, uid_t uid, mode_t mode = 0666) const {
    const std::string path = shared_ + "/" + name;
    std::ofstream(path) << "laid";
    EXPECT_EQ(chown(path.c_str(), uid, uid), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string Link(const std::string& name, const std::string& target, uid_t uid) const {
    const std::string path = shared_ + "/" + name;
    fs::create_symlink(target, path);
    EXPECT_EQ(lchown(path.c_str(), uid, uid), 0);
    return path;
  }
  static absl::Status Open(const std::string& path, std::optional<SudoUser> owner = {}) {
    absl::StatusOr<ResultFile> file = ResultFile::Create({path, OutputFormat::kFolded}, owner);
    if (!file.ok()) return file.status();
    if (absl::Status status = file->Write("new"); !status.ok()) return status;
    return file->Commit();
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const test::TemporaryDirectory directory_;
  std::string shared_, secret_;
};

TEST_F(OutputPlaceTest, AnotherUsersFileInASharedFolderIsRefused) {
  const std::string path = Lay("x.folded", kOther);
  for (const mode_t mode : {kLikeTmp, mode_t{0777}, mode_t{01775}}) {
    ASSERT_EQ(chmod(shared_.c_str(), mode), 0);
    const absl::Status status = Open(path);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to user 54321"));
    EXPECT_EQ(Read(path), "laid");
  }
}

TEST_F(OutputPlaceTest, OnesOwnTheSudoUsersAndTheFoldersOwnersAreTaken) {
  EXPECT_TRUE(Open(Lay("own.folded", 0)).ok());
  EXPECT_TRUE(Open(Lay("sudo.folded", kSudo), SudoUser{kSudo, kSudo, "somebody"}).ok());
  EXPECT_FALSE(Open(Lay("others.folded", kOther), SudoUser{kSudo, kSudo, "somebody"}).ok());
  ASSERT_EQ(chown(shared_.c_str(), kOther, kOther), 0);
  EXPECT_TRUE(Open(Lay("owner.folded", kOther)).ok());
  EXPECT_TRUE(Open(shared_ + "/new.folded").ok());
}

TEST_F(OutputPlaceTest, InAFolderOfOnesOwnAnyFileIsTaken) {
  ASSERT_EQ(chmod(shared_.c_str(), 0755), 0);
  EXPECT_TRUE(Open(Lay("x.folded", kOther)).ok());
  EXPECT_TRUE(Open(Link("link.folded", secret_, kOther)).ok());
}

TEST_F(OutputPlaceTest, AnotherUsersLinkIsNotFollowed) {
  for (const std::string& path :
       {Link("link.folded", secret_, kOther), Link("nowhere.folded", secret_ + ".new", kOther),
        Link("folder", directory_.path(), kOther) + "/secret",
        Link("of-root.folded", shared_ + "/link.folded", 0)}) {
    const absl::Status status = Open(path);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << path << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a symbolic link there belongs to"));
  }
  EXPECT_EQ(Read(secret_), "root's");
  EXPECT_FALSE(fs::exists(secret_ + ".new"));
  EXPECT_TRUE(Open(Link("own.folded", secret_, 0)).ok());
  EXPECT_EQ(Read(secret_), "new");
}

TEST_F(OutputPlaceTest, AFileWithASecondNameIsRefused) {
  fs::create_hard_link(secret_, shared_ + "/x.folded");
  EXPECT_THAT(std::string(Open(shared_ + "/x.folded").message()), HasSubstr("another name too"));
  EXPECT_EQ(Read(secret_), "root's");
}

TEST_F(OutputPlaceTest, AnotherUsersPipeIsRefusedAtOnce) {
  const std::string pipe = shared_ + "/pipe.folded";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  ASSERT_EQ(chown(pipe.c_str(), kOther, kOther), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Open(pipe)));
}

TEST_F(OutputPlaceTest, PathsLeadWhereTheKernelLeadsThem) {
  fs::create_directories(directory_.File("a/b"));
  EXPECT_TRUE(Open(directory_.File("a/./b/..//x.folded")).ok());
  EXPECT_EQ(Read(directory_.File("a/x.folded")), "new");
  fs::create_symlink("../a", directory_.File("a/self"));
  EXPECT_TRUE(Open(directory_.File("a/self/b/../self/y.folded")).ok());
  EXPECT_EQ(Read(directory_.File("a/y.folded")), "new");
  fs::create_symlink("loop", directory_.File("loop"));
  EXPECT_THAT(std::string(Open(directory_.File("loop")).message()), HasSubstr("Too many levels"));
  for (const char* wrong : {"a/x.folded/", "a/x.folded/y", "a/none/x", "a/", "a/b/..", "a/none/"})
    EXPECT_FALSE(Open(directory_.File(wrong)).ok()) << wrong;
  EXPECT_EQ(Read(directory_.File("a/x.folded")), "new");
  EXPECT_FALSE(Open("").ok());
}

TEST_F(OutputPlaceTest, WhatAnOpenDescriptorLeadsToIsTakenAsItIs) {
  const std::string path = Lay("x.folded", kOther);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const absl::StatusOr<OutputPlace> place =
      FindOutputPlace("/dev/fd/" + std::to_string(file.get()), {});
  ASSERT_TRUE(place.ok()) << place.status();
  struct stat a = {}, b = {};
  ASSERT_EQ(fstat(place->existing.get(), &a), 0);
  ASSERT_EQ(fstat(file.get(), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
}

}  // namespace
}  // namespace stackray
