// A wall clock that somebody sets: the history neither drops what is young nor keeps what is old,
// on disk and in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "agent/history/history.h"
#include "tests/agent/history/fake_batch.h"

namespace stackray {
namespace {

constexpr int64_t kHourMs = 3'600'000;

class JumpingClock : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    settings_.state_dir = GetParam() ? FreshDirectory() : "/proc/no-directory-can-be-made-here";
    settings_.max_age_ms = 24 * 60'000;  // A segment spans a minute.
    settings_.now_ms = [this] { return steady_ms_ + offset_ms_; };
    settings_.steady_ms = [this] { return steady_ms_; };
    history_ = Open();
  }
  std::unique_ptr<History> Open() {
    auto opened = OpenHistory(settings_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->history);
  }
  // So many batches of a second each, with the time that the wall clock shows.
  void Pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      const auto number = static_cast<uint64_t>((settings_.now_ms() - kFirstMs) / 1000);
      ASSERT_TRUE(history_->Append(FakeBatch(number)).ok());
      numbers_.push_back(static_cast<int64_t>(number));
      steady_ms_ += 1000;
    }
  }
  void SetWallClock(int64_t by_ms) { offset_ms_ += by_ms; }

  HistorySettings settings_;
  int64_t steady_ms_ = 5'000'000;
  int64_t offset_ms_ = kFirstMs + 10 * kHourMs - 5'000'000;
  std::unique_ptr<History> history_;
  std::vector<int64_t> numbers_;  // In the order of Append().
};

TEST_P(JumpingClock, AnHourBackDropsNothingAndKeepsTheOrder) {
  Pass(100);
  SetWallClock(-kHourMs);
  Pass(100);
  EXPECT_EQ(NumbersIn(*history_), numbers_);
  // Each is found at the time that it says.
  const int64_t before_ms = kFirstMs + 10 * kHourMs, after_ms = before_ms + 100'000 - kHourMs;
  EXPECT_EQ(NumbersIn(*history_, before_ms, before_ms + 100'000).size(), 100u);
  EXPECT_EQ(NumbersIn(*history_, after_ms, after_ms + 100'000).size(), 100u);
  EXPECT_EQ(history_->statistics().oldest_ms, after_ms);
  EXPECT_EQ(history_->statistics().newest_ms, after_ms + 100'000) << "the page shows what comes";
  EXPECT_LE(history_->statistics().segments, 6u) << "segments go on by their age";
  // And it grows old in its own time, not an hour later.
  Pass(24 * 60);
  const std::vector<int64_t> kept = NumbersIn(*history_);
  EXPECT_GE(kept.size(), 24u * 60 - 1);
  EXPECT_LE(kept.size(), 24u * 60 + 70);
  EXPECT_TRUE(std::ranges::equal(kept, std::span(numbers_).last(kept.size())));
  EXPECT_EQ(history_->statistics().evicted_batches, 0u);
}

TEST_P(JumpingClock, AnHourForwardDropsNothing) {
  Pass(100);
  SetWallClock(kHourMs);
  Pass(100);
  EXPECT_EQ(NumbersIn(*history_), numbers_);
  EXPECT_EQ(history_->statistics().expired_batches, 0u);
  EXPECT_LE(history_->statistics().segments, 6u);
  Pass(24 * 60);
  EXPECT_LE(NumbersIn(*history_).size(), 24u * 60 + 70);
}

// From 1970 to the true time, as on a machine without a clock of its own.
TEST_P(JumpingClock, YearsForwardDropNothing) {
  Pass(10);
  SetWallClock(20LL * 365 * 24 * kHourMs);
  Pass(10);
  EXPECT_EQ(NumbersIn(*history_), numbers_);
}

TEST_P(JumpingClock, BackAndForthAgainAndAgain) {
  for (int i = 0; i < 20; ++i) {
    Pass(10);
    SetWallClock(i % 2 == 0 ? -kHourMs : kHourMs);
  }
  EXPECT_EQ(NumbersIn(*history_), numbers_);
}

// What an earlier process left with times that are still to come.
TEST_P(JumpingClock, BatchesOfTheFutureAreNewAtTheOpening) {
  if (!GetParam()) GTEST_SKIP() << "a history in memory ends with its process";
  Pass(100);
  SetWallClock(-kHourMs);
  history_.reset();
  history_ = Open();
  EXPECT_EQ(NumbersIn(*history_), numbers_);
  Pass(20 * 60);
  EXPECT_EQ(NumbersIn(*history_), numbers_);
  Pass(6 * 60);
  EXPECT_GE(NumbersIn(*history_).front(), numbers_[100])
      << "26 minutes after the opening they are old";
}

INSTANTIATE_TEST_SUITE_P(Where, JumpingClock, testing::Bool(),
                         [](const auto& where) { return where.param ? "OnDisk" : "InMemory"; });

}  // namespace
}  // namespace stackray
