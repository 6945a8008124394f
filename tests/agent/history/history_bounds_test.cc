// Bytes and age never exceed their bounds, and only the oldest go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/history/history.h"
#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

uint64_t BytesOnDisk(const std::string& state_dir) {
  uint64_t bytes = 0;
  for (const std::string& name : SegmentNames(state_dir))
    bytes += std::filesystem::file_size(state_dir + "/history/" + name);
  return bytes;
}

class Bounds : public testing::Test {
 protected:
  std::unique_ptr<History> Open() {
    settings_.now_ms = [this] { return now_ms_; };
    auto opened = OpenHistory(settings_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->history);
  }
  HistorySettings settings_{FreshDirectory()};
  int64_t now_ms_ = kFirstMs;
};

TEST_F(Bounds, BytesOfFilesStayBelowTheBound) {
  settings_.max_bytes = 2 * 1024 * 1024;
  const auto history = Open();
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(history->Append(FakeBatch(i, 1000 + i * 37 % 30'000)).ok());
    ASSERT_LE(BytesOnDisk(settings_.state_dir), settings_.max_bytes);
    ASSERT_EQ(history->statistics().bytes, BytesOnDisk(settings_.state_dir));
  }
  const std::vector<int64_t> numbers = NumbersIn(*history);
  EXPECT_EQ(numbers.back(), 499);
  for (size_t i = 1; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], numbers[i - 1] + 1);
  const HistoryStatistics statistics = history->statistics();
  EXPECT_EQ(statistics.evicted_batches + numbers.size(), 500u);
  EXPECT_GT(statistics.bytes, settings_.max_bytes * 9 / 10);  // And most of the room is used.
}

TEST_F(Bounds, AgeDropsWholeOldSegments) {
  settings_.max_age_ms = 240'000;  // So that a segment spans ten seconds.
  const auto history = Open();
  for (uint64_t i = 0; i < 600; ++i) {
    now_ms_ = kFirstMs + 1000 * static_cast<int64_t>(i) + 1000;
    ASSERT_TRUE(history->Append(FakeBatch(i)).ok());
    const HistoryStatistics statistics = history->statistics();
    ASSERT_GE(statistics.oldest_ms, now_ms_ - settings_.max_age_ms - 12'000);
  }
  EXPECT_EQ(NumbersIn(*history).back(), 599);
  EXPECT_GE(NumbersIn(*history).size(), 240u);
  EXPECT_EQ(history->statistics().evicted_batches, 0u);
  now_ms_ += 300'000;  // Nothing comes any more: a query drops what is too old.
  EXPECT_TRUE(NumbersIn(*history).empty());
  EXPECT_TRUE(SegmentNames(settings_.state_dir).empty());
  EXPECT_EQ(history->statistics().expired_batches, 600u);
}

TEST_F(Bounds, ASmallerBoundHoldsFromTheNextStartOn) {
  settings_.max_bytes = 4 * 1024 * 1024;
  {
    const auto history = Open();
    for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(history->Append(FakeBatch(i, 10'000)).ok());
  }
  settings_.max_bytes = 1024 * 1024;
  const auto history = Open();
  EXPECT_LE(BytesOnDisk(settings_.state_dir), settings_.max_bytes);
  EXPECT_EQ(NumbersIn(*history).back(), 299);
}

TEST_F(Bounds, ABatchLargerThanAllIsRefusedAndCostsNothing) {
  settings_.max_bytes = 1024 * 1024;
  const auto history = Open();
  ASSERT_TRUE(history->Append(FakeBatch(0)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(history->Append(FakeBatch(1, 1024 * 1024))));
  EXPECT_EQ(history->statistics().failed_batches, 1u);
  EXPECT_EQ(history->statistics().failed_samples, 2u);
  EXPECT_EQ(NumbersIn(*history), std::vector<int64_t>{0});
}

TEST_F(Bounds, MemoryOnlyIsBoundedToo) {
  settings_.state_dir = "/proc/no-directory-can-be-made-here";
  settings_.memory_bytes = 200'000;
  settings_.max_age_ms = 50'000;
  const auto history = Open();
  for (uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(history->Append(FakeBatch(i, 10'000)).ok());
  EXPECT_LE(history->statistics().bytes, settings_.memory_bytes);
  EXPECT_EQ(NumbersIn(*history).back(), 39);
  EXPECT_EQ(history->statistics().batches + history->statistics().evicted_batches, 40u);
  EXPECT_TRUE(absl::IsResourceExhausted(history->Append(FakeBatch(41, 300'000))));
  now_ms_ += 200'000;
  EXPECT_TRUE(NumbersIn(*history).empty());
}

TEST_F(Bounds, ManySmallSegmentsDoNotEatDescriptors) {
  settings_.max_age_ms = 24'000'000;
  settings_.max_bytes = 64 * 1024 * 1024;
  {
    const auto history = Open();
    for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(history->Append(FakeBatch(i)).ok());
  }
  const std::string folder = settings_.state_dir + "/history/";
  const std::string bytes = ReadFile(folder + SegmentNames(settings_.state_dir).at(0));
  for (int i = 2; i < 400; ++i) {
    char name[64];
    snprintf(name, sizeof(name), "%012d-001790000000000.otlp", i);
    WriteFile(folder + name, bytes);
  }
  const auto history = Open();
  EXPECT_EQ(history->statistics().segments, 256u);
  EXPECT_EQ(SegmentNames(settings_.state_dir).size(), 256u);
}

}  // namespace
}  // namespace stackray
