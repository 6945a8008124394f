#include "agent/captures/trusted_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "agent/captures/capture_files.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uid_t kOther = 54321;

class TrustedPath : public testing::Test {
 protected:
  TrustedPath() {
    fs::create_directories(folder_);
    Mode(above_, 0755);
    Mode(folder_, 0755);
    file_ = scratch_.Write("etc/captures.d/web.yaml",
                           "- {name: web, target: {command: nginx}, for: 5m}\n");
    Mode(file_, 0644);
  }
  static void Mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  static std::string Why(const std::string& path) {
    return std::string(OnlyRootChanges(path).message());
  }

  const test::TemporaryDirectory scratch_;
  const std::string above_ = scratch_.File("etc"), folder_ = above_ + "/captures.d";
  std::string file_;
};

TEST_F(TrustedPath, HoldsWhereOnlyRootOrWeMayWrite) {
  EXPECT_EQ(Why(file_), "");
  EXPECT_EQ(Why("/"), "");
  EXPECT_TRUE(absl::IsNotFound(OnlyRootChanges(folder_ + "/none")));
}

TEST_F(TrustedPath, NamesThePartThatOthersMayWrite) {
  for (const std::string& path : {file_, folder_, above_}) {
    for (const mode_t more : {0020, 0002}) {
      Mode(path, 0755 | more);
      EXPECT_THAT(Why(file_), HasSubstr("chmod go-w " + path));
      Mode(path, 0755);
    }
  }
  EXPECT_EQ(Why(file_), "");
}

TEST_F(TrustedPath, AStickyFolderMayBeOnTheWayAndIsNotTheEnd) {
  Mode(above_, 01777);
  EXPECT_EQ(Why(file_), "");
  EXPECT_THAT(Why(above_), HasSubstr("chmod go-w"));
}

TEST_F(TrustedPath, LinksAreFollowedAndTheirWayCounts) {
  const std::string link = folder_ + "/link.yaml", elsewhere = scratch_.File("elsewhere");
  fs::create_directory(elsewhere);
  fs::create_symlink("../../elsewhere/x.yaml", link);
  EXPECT_TRUE(absl::IsNotFound(OnlyRootChanges(link)));
  scratch_.Write("elsewhere/x.yaml", "");
  Mode(elsewhere + "/x.yaml", 0644);
  Mode(elsewhere, 0755);
  EXPECT_EQ(Why(link), "");
  Mode(elsewhere, 0777);
  EXPECT_THAT(Why(link), HasSubstr("chmod go-w " + elsewhere));
  fs::create_symlink("loop", folder_ + "/loop");
  EXPECT_THAT(Why(folder_ + "/loop"), HasSubstr("Too many levels"));
}

TEST_F(TrustedPath, AnotherUsersPartIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string link = folder_ + "/link.yaml";
  fs::create_symlink("web.yaml", link);
  for (const std::string& path : {file_, folder_, above_, link}) {
    ASSERT_EQ(lchown(path.c_str(), kOther, kOther), 0);
    EXPECT_THAT(Why(link), HasSubstr("user 54321 owns " + path));
    ASSERT_EQ(lchown(path.c_str(), 0, 0), 0);
  }
  EXPECT_EQ(Why(link), "");
}

TEST_F(TrustedPath, NoCaptureComesFromAFolderThatOthersMayWrite) {
  for (const mode_t mode : {0777, 0775}) {
    Mode(folder_, mode);
    CaptureFiles files(folder_);
    EXPECT_TRUE(files.Read());
    EXPECT_THAT(files.Entries(), IsEmpty());
    ASSERT_THAT(files.Problems(), SizeIs(1));
    EXPECT_THAT(files.Problems()[0].text, HasSubstr("is not read: others than root may write"));
    Mode(folder_, 0755);
    EXPECT_TRUE(files.Read());
    EXPECT_THAT(files.Entries(), SizeIs(1));
    EXPECT_THAT(files.Problems(), IsEmpty());
  }
  Mode(file_, 0666);
  CaptureFiles files(folder_);
  files.Read();
  EXPECT_THAT(files.Entries(), IsEmpty());
  ASSERT_THAT(files.Problems(), SizeIs(1));
  EXPECT_THAT(files.Problems()[0].text, HasSubstr("others than root may write"));
}

}  // namespace
}  // namespace stackray
