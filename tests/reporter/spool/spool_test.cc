#include "reporter/spool/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<uint64_t> SamplesOf(const std::vector<SpoolEntry>& entries) {
  std::vector<uint64_t> samples;
  for (const SpoolEntry& entry : entries) samples.push_back(entry.items);
  return samples;
}

class SpoolTest : public testing::Test {
 protected:
  void Reopen() {
    spool_.reset();
    spool_ = MustOpen(SpoolIn(scratch_.path()));
    ASSERT_NE(spool_, nullptr);
  }
  void SetUp() override { Reopen(); }
  SpoolEntry Write(const Payload& batch) {
    absl::StatusOr<SpoolEntry> entry = spool_->Write(batch);
    EXPECT_TRUE(entry.ok()) << entry.status();
    return entry.ok() ? *entry : SpoolEntry();
  }
  std::vector<std::string> Files() const { return SpoolFiles(scratch_.path()); }

  ScratchDirectory scratch_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolTest, WhatIsWrittenIsFoundInOrder) {
  for (uint64_t samples = 1; samples <= 300; ++samples) Write(MakeBatch("bytes", samples, 1));
  Reopen();
  ASSERT_THAT(spool_->found(), SizeIs(300));
  for (uint64_t i = 0; i < 300; ++i) EXPECT_EQ(spool_->found()[i].items, i + 1);
  const SpoolEntry next = Write(MakeBatch("next", 1));
  EXPECT_TRUE(SpoolEntry::Before(spool_->found().back(), next));
}

TEST_F(SpoolTest, ReadsWhatWasWrittenUntilItIsRemoved) {
  const SpoolEntry entry = Write(MakeBatch(NoiseBytes(100'000, 1), 12, 3));
  const absl::StatusOr<Payload> batch = spool_->Read(entry);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->bytes, NoiseBytes(100'000, 1));
  EXPECT_EQ(batch->markers, 3u);
  EXPECT_TRUE(spool_->Sync({entry}).ok());
  EXPECT_TRUE(spool_->Remove(entry).ok());
  EXPECT_TRUE(spool_->Remove(entry).ok());  // Gone already.
  EXPECT_TRUE(spool_->Sync({entry}).ok());
  EXPECT_TRUE(absl::IsDataLoss(spool_->Read(entry).status()));
  Reopen();
  EXPECT_THAT(spool_->found(), IsEmpty());
}

TEST_F(SpoolTest, ATornFileIsToldWithItsSamples) {
  Write(MakeBatch("whole", 1));
  Write(MakeBatch("torn at the end", 2));
  Write(MakeBatch("empty", 4));
  std::filesystem::resize_file(Files()[1], 70);
  std::filesystem::resize_file(Files()[2], 0);
  Reopen();
  EXPECT_THAT(SamplesOf(spool_->found()), ElementsAre(1));
  EXPECT_THAT(SamplesOf(spool_->torn()), ElementsAre(2, 4));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(SpoolTest, AFileUnderAnothersNameIsDamaged) {
  const SpoolEntry one = Write(MakeBatch("one!", 1)), two = Write(MakeBatch("two!", 2));
  std::filesystem::rename(Files()[1], Files()[0]);
  EXPECT_THAT(std::string(spool_->Read(one).status().message()), HasSubstr("another batch"));
  EXPECT_TRUE(absl::IsDataLoss(spool_->Read(two).status()));
}

TEST_F(SpoolTest, PipesAndLinksInAFilesPlaceAreDamaged) {
  Write(MakeBatch("pipe", 1));
  Write(MakeBatch("link", 2));
  const std::vector<std::string> files = Files();
  for (const std::string& file : files) std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(files[0].c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", files[1]);
  Reopen();
  EXPECT_THAT(spool_->found(), IsEmpty());
  EXPECT_THAT(SamplesOf(spool_->torn()), ElementsAre(1, 2));
}

TEST_F(SpoolTest, StrangeFilesAreLeftAlone) {
  Write(MakeBatch("ours", 1));
  const std::string stranger =
      std::filesystem::path(Files()[0]).parent_path().string() + "/README.batch";
  WriteWhole(stranger, "not ours");
  spool_.reset();
  const absl::StatusOr<OpenedSpool> opened = Spool::Open(SpoolIn(scratch_.path()));
  ASSERT_TRUE(opened.ok());
  EXPECT_THAT(opened->warnings, ElementsAre(HasSubstr("1 files")));
  EXPECT_EQ(ReadWhole(stranger), "not ours");
}

TEST_F(SpoolTest, PartsReplaceTheWholeAndKeepItsPlace) {
  Write(MakeBatch("first", 1));
  const SpoolEntry whole = Write(MakeBatch("to be split", 10));
  Write(MakeBatch("last", 2));
  const auto parts = spool_->WriteParts(whole, {MakeBatch("to be", 4), MakeBatch(" split", 6)});
  ASSERT_TRUE(parts.ok()) << parts.status();
  const auto smaller = spool_->WriteParts(parts->at(0), {MakeBatch("to", 3), MakeBatch("be", 1)});
  ASSERT_TRUE(smaller.ok());
  Reopen();
  EXPECT_THAT(SamplesOf(spool_->found()), ElementsAre(1, 3, 1, 6, 2));
  EXPECT_THAT(spool_->torn(), IsEmpty());
}

// As if killed between any two steps of a split: the whole, or all parts, are found.
TEST_F(SpoolTest, AnInterruptedSplitLeavesTheWhole) {
  const SpoolEntry whole = Write(MakeBatch("to be split", 10));
  const std::string path = Files()[0], bytes = ReadWhole(path);
  ASSERT_TRUE(spool_->WriteParts(whole, {MakeBatch("to be", 4), MakeBatch(" split", 6)}).ok());
  const std::vector<std::string> parts = Files();
  WriteWhole(path, bytes);
  Reopen();
  EXPECT_THAT(SamplesOf(spool_->found()), ElementsAre(10));
  EXPECT_THAT(Files(), ElementsAre(path));
  WriteWhole(parts[0], "torn");  // The first part alone, and not all of it.
  Reopen();
  EXPECT_THAT(SamplesOf(spool_->found()), ElementsAre(10));
  EXPECT_THAT(spool_->torn(), IsEmpty());
}

TEST_F(SpoolTest, ASecondProcessIsRefused) {
  const absl::StatusOr<OpenedSpool> second = Spool::Open(SpoolIn(scratch_.path()));
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
}

TEST(SpoolOpen, WithoutADirectoryThereIsAWarningAndNoSpool) {
  const absl::StatusOr<OpenedSpool> opened = Spool::Open(SpoolIn("/proc/no/such/place"));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->spool, nullptr);
  EXPECT_THAT(opened->warnings, ElementsAre(HasSubstr("wait in memory")));
}

}  // namespace
}  // namespace stackray
