#include "reporter/spool/spool_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "reporter/spool/spool_directory.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kNow = 1'790'000'000'000;
constexpr std::chrono::hours kAge{6};

class SpoolSweep : public testing::Test {
 protected:
  void Leave(const char* receiver, uint64_t samples, int64_t added_ms) {
    SpoolSettings settings{.directory = scratch_.path(), .receiver = receiver};
    settings.now_ms = [added_ms] { return added_ms; };
    const std::unique_ptr<Spool> spool = MustOpen(settings);
    ASSERT_TRUE(spool->Write(MakeBatch("bytes", samples)).ok());
  }
  bool Exists(const char* receiver) const {
    return std::filesystem::exists(scratch_.path() + "/" + SpoolFolderName(receiver));
  }
  ScratchDirectory scratch_;
};

TEST_F(SpoolSweep, OldBatchesOfOthersGoAndAreCounted) {
  Leave("gone", 5, kNow - 7 * 3'600'000);
  Leave("gone", 3, kNow - 1'000);
  Leave("long gone", 2, kNow - 7 * 3'600'000);
  Leave("ours", 9, kNow - 7 * 3'600'000);
  std::filesystem::create_directory(scratch_.path() + "/not a spool");
  const std::vector<SweptSpool> swept = SweepOtherSpools(scratch_.path(), {"ours"}, kAge, kNow);
  ASSERT_THAT(swept, SizeIs(2));
  const SweptSpool& gone = swept[swept[0].receiver == "gone" ? 0 : 1];
  EXPECT_EQ(gone.receiver, "gone");
  EXPECT_EQ(gone.expired_items, 5u);
  EXPECT_EQ(gone.waiting_items, 3u);
  EXPECT_TRUE(Exists("gone"));
  EXPECT_FALSE(Exists("long gone"));
  EXPECT_TRUE(Exists("ours"));
  EXPECT_TRUE(std::filesystem::exists(scratch_.path() + "/not a spool"));
}

TEST_F(SpoolSweep, OneThatIsOpenIsLeftAlone) {
  Leave("busy", 5, 0);
  const auto busy = MustOpen({.directory = scratch_.path(), .receiver = "busy"});
  EXPECT_THAT(SweepOtherSpools(scratch_.path(), {}, kAge, kNow), IsEmpty());
  EXPECT_TRUE(busy->Read(busy->found().at(0)).ok());
}

TEST_F(SpoolSweep, NoDirectoryIsNoSpools) {
  EXPECT_THAT(SweepOtherSpools(scratch_.path() + "/none", {}, kAge, kNow), IsEmpty());
}

TEST_F(SpoolSweep, AnotherReceiverTakesASpoolOver) {
  Leave("old", 5, kNow);
  MustOpen({.directory = scratch_.path(), .receiver = "new"});  // Empty.
  EXPECT_TRUE(RenameSpool(scratch_.path(), "old", scratch_.path(), "new").ok());
  EXPECT_FALSE(Exists("old"));
  EXPECT_EQ(MustOpen({.directory = scratch_.path(), .receiver = "new"})->found().at(0).items, 5u);
  EXPECT_TRUE(absl::IsNotFound(RenameSpool(scratch_.path(), "old", scratch_.path(), "new")));
}

TEST_F(SpoolSweep, ASpoolWithBatchesIsNotOverwritten) {
  Leave("old", 5, kNow);
  Leave("new", 6, kNow);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(RenameSpool(scratch_.path(), "old", scratch_.path(), "new")));
  EXPECT_TRUE(Exists("old"));
  EXPECT_TRUE(Exists("new"));
}

}  // namespace
}  // namespace stackray
