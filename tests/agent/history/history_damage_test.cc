// A history opened after its files were cut, changed or joined by others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "agent/history/history.h"
#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Damage : public testing::Test {
 protected:
  static constexpr uint64_t kBatches = 4;
  Damage() {
    const OpenedHistory opened = Open();
    for (uint64_t i = 0; i < kBatches; ++i) {
      ends_.push_back(opened.history->statistics().bytes);
      EXPECT_TRUE(opened.history->Append(FakeBatch(i, 40)).ok());
    }
    ends_.push_back(opened.history->statistics().bytes);
    segment_ = folder_ + SegmentNames(settings_.state_dir).at(0);
    whole_ = ReadFile(segment_);
  }
  OpenedHistory Open() {
    settings_.now_ms = [] { return kFirstMs + 100'000; };
    auto opened = OpenHistory(settings_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : OpenedHistory{};
  }
  // How many of the first batches end before `offset`.
  uint64_t WholeBefore(size_t offset) const {
    uint64_t whole = 0;
    while (whole < kBatches && ends_[whole + 1] <= offset) ++whole;
    return whole;
  }
  HistorySettings settings_{FreshDirectory()};
  const std::string folder_ = settings_.state_dir + "/history/";
  std::vector<uint64_t> ends_;  // ends_[i]: where batch i's frame begins.
  std::string segment_, whole_;
};

TEST_F(Damage, ATailTornAnywhereIsCutOffAndCounted) {
  for (size_t cut = 0; cut <= whole_.size(); ++cut) {
    WriteFile(segment_, whole_.substr(0, cut));
    const uint64_t kept = WholeBefore(cut);
    {
      const OpenedHistory opened = Open();
      const HistoryStatistics statistics = opened.history->statistics();
      ASSERT_EQ(statistics.batches, kept) << cut;
      ASSERT_EQ(statistics.damaged_bytes, cut - ends_[kept]) << cut;
      ASSERT_EQ(opened.warnings.empty(), cut == ends_[kept]) << cut;
      if (cut % 16 == 0) {
        ASSERT_TRUE(opened.history->Append(FakeBatch(9, 40)).ok());
      }
    }
    const std::vector<int64_t> numbers = NumbersIn(*Open().history);
    ASSERT_EQ(numbers.size(), kept + (cut % 16 == 0 ? 1 : 0)) << cut;
    for (size_t i = 0; i < numbers.size(); ++i)
      ASSERT_EQ(numbers[i], i < kept ? static_cast<int64_t>(i) : 9);
    for (const std::string& name : SegmentNames(settings_.state_dir))
      unlink((folder_ + name).c_str());
  }
}

TEST_F(Damage, EveryFlippedBitOfALengthIsFound) {
  for (uint64_t frame = 0; frame < kBatches; ++frame) {
    for (int bit = 0; bit < 32; ++bit) {
      std::string bytes = whole_;
      bytes[ends_[frame] + static_cast<size_t>(bit / 8)] ^= static_cast<char>(1 << bit % 8);
      WriteFile(segment_, bytes);
      const OpenedHistory opened = Open();
      std::vector<int64_t> expected;
      for (uint64_t i = 0; i < frame; ++i) expected.push_back(static_cast<int64_t>(i));
      ASSERT_EQ(NumbersIn(*opened.history), expected) << frame << " bit " << bit;
      ASSERT_EQ(opened.history->statistics().damaged_bytes, whole_.size() - ends_[frame]);
      ASSERT_EQ(opened.warnings.size(), 1u);
    }
  }
}

TEST_F(Damage, RandomBytesNeverHarmWhatLiesBefore) {
  std::mt19937 random(20260131);
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole_;
    const size_t at = random() % bytes.size();
    const size_t length = std::min<size_t>(1 + random() % 16, bytes.size() - at);
    for (size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random());
    WriteFile(segment_, bytes);
    const OpenedHistory opened = Open();
    const std::vector<int64_t> numbers = NumbersIn(*opened.history);
    ASSERT_GE(numbers.size(), WholeBefore(at)) << round;
    for (size_t i = 0; i < WholeBefore(at); ++i) ASSERT_EQ(numbers[i], static_cast<int64_t>(i));
  }
}

TEST_F(Damage, ZerosAfterAPowerCutAreCutOff) {
  WriteFile(segment_, whole_ + std::string(8192, '\0'));
  const OpenedHistory opened = Open();
  EXPECT_THAT(NumbersIn(*opened.history), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(opened.history->statistics().damaged_bytes, 8192u);
  EXPECT_THAT(opened.warnings, ElementsAre(HasSubstr("cut 8192 damaged bytes off 000000000001-")));
}

TEST_F(Damage, ForeignFilesAreLeftAlone) {
  const std::string outside = settings_.state_dir + "/precious";
  WriteFile(outside, "not yours");
  WriteFile(folder_ + "notes.txt", "hello");
  WriteFile(folder_ + "1-2.otlp", "short name");
  WriteFile(folder_ + "00000000000x-001790000000000.otlp", "no number");
  ASSERT_EQ(symlink(outside.c_str(), (folder_ + "000000000007-001790000000000.otlp").c_str()), 0);
  ASSERT_EQ(mkdir((folder_ + "000000000008-001790000000000.otlp").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo((folder_ + "000000000009-001790000000000.otlp").c_str(), 0600), 0);
  const OpenedHistory opened = Open();
  EXPECT_EQ(opened.warnings.size(), 6u);
  EXPECT_THAT(opened.warnings, Contains(HasSubstr("foreign file, left alone: notes.txt")));
  EXPECT_THAT(opened.warnings,
              Contains(HasSubstr("000000000009-001790000000000.otlp is not a regular file")));
  EXPECT_THAT(NumbersIn(*opened.history), ElementsAre(0, 1, 2, 3));
  ASSERT_TRUE(opened.history->Append(FakeBatch(4)).ok());
  EXPECT_THAT(NumbersIn(*opened.history), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(ReadFile(outside), "not yours");
  EXPECT_EQ(ReadFile(folder_ + "notes.txt"), "hello");
  EXPECT_EQ(ReadFile(folder_ + "1-2.otlp"), "short name");
}

TEST_F(Damage, AnEmptySegmentIsRemoved) {
  WriteFile(folder_ + "000000000005-001790000000000.otlp", "");
  EXPECT_THAT(Open().warnings, IsEmpty());
  EXPECT_EQ(SegmentNames(settings_.state_dir).size(), 1u);
}

TEST_F(Damage, AFileCutWhileOpenCostsOnlyItsOwnBatches) {
  const OpenedHistory opened = Open();
  std::filesystem::resize_file(segment_, ends_[2] + 10);
  EXPECT_THAT(NumbersIn(*opened.history), ElementsAre(0, 1));
  EXPECT_EQ(opened.history->statistics().read_errors, 2u);
}

}  // namespace
}  // namespace stackray
