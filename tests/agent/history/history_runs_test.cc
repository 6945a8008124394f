// Runs of batches, and the indexes that are kept beside whole segments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/history/history.h"
#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kFiller = 8000;  // Eight batches fill a segment of 64 KiB.

std::unique_ptr<History> Open(const std::string& state_dir, uint64_t max_bytes = 2 << 20) {
  auto opened = OpenHistory({.state_dir = state_dir,
                             .max_bytes = max_bytes,
                             .max_age_ms = 86'400'000,
                             .now_ms = [] { return kFirstMs + 100'000; },
                             .steady_ms = {}});
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->warnings, IsEmpty());
  return std::move(opened->history);
}

void Append(History& history, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) ASSERT_TRUE(history.Append(FakeBatch(i, kFiller)).ok());
}

std::vector<int64_t> NumbersOf(History& history, const HistoryRun& run) {
  std::vector<int64_t> numbers;
  history.Visit(run, [&](std::string_view bytes) {
    numbers.push_back(NumberOf(bytes));
    return true;
  });
  return numbers;
}

std::vector<int64_t> AllOf(History& history, int64_t from_ms = 0, int64_t to_ms = INT64_MAX) {
  std::vector<int64_t> numbers;
  for (const HistoryRun& run : history.Runs(from_ms, to_ms))
    for (const int64_t number : NumbersOf(history, run)) numbers.push_back(number);
  return numbers;
}

std::vector<std::string> IndexNames(const std::string& state_dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(state_dir + "/history"))
    if (const std::string name = entry.path().filename(); name.find(".index") != name.npos)
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

TEST(HistoryRuns, HaveEachBatchOnce) {
  for (const std::string& directory : {FreshDirectory(), std::string("/proc/no-directory")}) {
    SCOPED_TRACE(directory);
    auto opened = OpenHistory({.state_dir = directory, .now_ms = [] { return kFirstMs; }});
    ASSERT_TRUE(opened.ok());
    History& history = *opened->history;
    EXPECT_THAT(history.Runs(0, INT64_MAX), IsEmpty());
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 21; ++i) {
      ASSERT_TRUE(history.Append(FakeBatch(static_cast<uint64_t>(i))).ok());
      expected.push_back(i);
    }
    EXPECT_EQ(AllOf(history), expected);
    const std::vector<HistoryRun> runs = history.Runs(0, INT64_MAX);
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].count, HistoryRun::kBatches);
    EXPECT_EQ(runs[1].start_ms, kFirstMs + 8000);
    EXPECT_EQ(runs[2].count, 5u);
    // One that is whole keeps its name while others come.
    ASSERT_TRUE(history.Append(FakeBatch(21)).ok());
    EXPECT_EQ(history.Runs(0, INT64_MAX)[1].name, runs[1].name);
    EXPECT_NE(history.Runs(0, INT64_MAX)[2].name, runs[2].name);
    EXPECT_EQ(AllOf(history, kFirstMs + 9000, kFirstMs + 9500).size(), HistoryRun::kBatches);
  }
}

TEST(HistoryRuns, AnIndexStaysBesideItsSegmentAndGoesWithIt) {
  const std::string directory = FreshDirectory();
  std::unique_ptr<History> history = Open(directory);
  Append(*history, 0, 20);
  std::vector<HistoryRun> runs = history->Runs(0, INT64_MAX);
  ASSERT_TRUE(runs[0].whole);
  ASSERT_FALSE(runs.back().whole);
  EXPECT_TRUE(absl::IsNotFound(history->Index(runs[0]).status()));
  EXPECT_TRUE(absl::IsNotFound(history->KeepIndex(runs.back(), "grows")));
  const uint64_t before = history->statistics().bytes;
  ASSERT_TRUE(history->KeepIndex(runs[0], "an index").ok());
  EXPECT_EQ(history->statistics().bytes, before + 8);
  ASSERT_TRUE(history->KeepIndex(runs[0], "another").ok());
  EXPECT_EQ(history->statistics().bytes, before + 7);
  EXPECT_THAT(IndexNames(directory), testing::SizeIs(1));

  // A restart finds it, and cleans up what has no segment.
  history.reset();
  WriteFile(directory + "/history/000000000099-000000000000099.index", "orphan");
  WriteFile(directory + "/history/000000000001-000000000000099.index.part", "half");
  history = Open(directory);
  EXPECT_THAT(IndexNames(directory), testing::SizeIs(1));
  runs = history->Runs(0, INT64_MAX);
  ASSERT_TRUE(runs[0].indexed);
  const auto index = history->Index(runs[0]);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->bytes(), "another");
  (*index)->DropPages();

  // It goes with its segment; who has it open keeps it.
  Append(*history, 20, 320);
  EXPECT_THAT(IndexNames(directory), IsEmpty());
  EXPECT_EQ((*index)->bytes(), "another");
  EXPECT_TRUE(absl::IsNotFound(history->KeepIndex(runs[0], "late")));
  EXPECT_THAT(NumbersOf(*history, runs[0]), IsEmpty());
  EXPECT_LE(history->statistics().bytes, uint64_t{2} << 20);
}

TEST(HistoryRuns, AnIndexThatIsNoFileIsNotRead) {
  const std::string directory = FreshDirectory();
  std::unique_ptr<History> history = Open(directory);
  Append(*history, 0, 20);
  const HistoryRun run = history->Runs(0, INT64_MAX)[0];
  ASSERT_TRUE(history->KeepIndex(run, "index").ok());
  const std::string path = directory + "/history/" + IndexNames(directory)[0];
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(history->Index(run).ok());
  std::filesystem::remove(path);
  EXPECT_TRUE(absl::IsNotFound(history->Index(run).status()));
  ASSERT_TRUE(history->KeepIndex(run, "again").ok());
  EXPECT_TRUE(history->Index(run).ok());
}

}  // namespace
}  // namespace stackray
