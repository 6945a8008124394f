#include "reporter/spool/spool_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using testing::HasSubstr;

TEST(SpoolDirectory, FolderNamesAreFixed) {
  EXPECT_EQ(SpoolFolderName(""), "cbf29ce484222325");  // FNV-1a's own test values.
  EXPECT_EQ(SpoolFolderName("foobar"), "85944171f73967e8");
}

TEST(SpoolDirectory, IsMadeForItsOwnerAloneAndNamesItsReceiver) {
  const ScratchDirectory scratch;
  const std::string root = scratch.path() + "/state/spool";
  ASSERT_TRUE(OpenSpoolDirectory(root, kReceiver).ok());
  const std::string folder = root + "/" + SpoolFolderName(kReceiver);
  struct stat facts;
  ASSERT_EQ(stat(folder.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_EQ(ReadWhole(folder + "/receiver"), std::string(kReceiver) + "\n");
}

TEST(SpoolDirectory, ASecondOneIsRefusedAndToldByWhom) {
  const ScratchDirectory scratch;
  const auto first = OpenSpoolDirectory(scratch.path(), kReceiver);
  ASSERT_TRUE(first.ok());
  const auto second = OpenSpoolDirectory(scratch.path(), kReceiver);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(getpid())));
  EXPECT_TRUE(OpenSpoolDirectory(scratch.path(), "another receiver").ok());
}

TEST(SpoolDirectory, ALinkInTheFoldersPlaceIsNotFollowed) {
  const ScratchDirectory scratch, elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path(),
                                            scratch.path() + "/" + SpoolFolderName(kReceiver));
  EXPECT_FALSE(OpenSpoolDirectory(scratch.path(), kReceiver).ok());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

TEST(SpoolDirectory, AFileInItsPlaceIsAnError) {
  const ScratchDirectory scratch;
  WriteWhole(scratch.path() + "/spool", "a file");
  const auto opened = OpenSpoolDirectory(scratch.path() + "/spool", kReceiver);
  EXPECT_TRUE(absl::IsUnavailable(opened.status())) << opened.status();
}

}  // namespace
}  // namespace stackray
