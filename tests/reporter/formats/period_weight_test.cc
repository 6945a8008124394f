// Batches of different sampling periods in one page or file: each sample counts for the time it
// stands for.
#include "reporter/formats/period_weight.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "reporter/batch.h"
#include "reporter/formats/page_profile.h"
#include "reporter/formats/profile_view.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

TEST(PeriodWeight, CountsAreInTheShortestPeriod) {
  PeriodWeight weight;
  const auto next = [&](double period_ns) {
    const PeriodWeight::Factors factors = weight.Next(period_ns);
    return std::pair(factors.before, factors.batch);
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(next(0), Pair(1, 1));
  EXPECT_EQ(next(5e7), Pair(1, 1));
  EXPECT_EQ(next(2e8), Pair(1, 4));
  EXPECT_EQ(next(5e7), Pair(1, 1));
  EXPECT_EQ(next(1e7), Pair(5, 1));
  EXPECT_EQ(weight.period_ns(), 1e7);
  EXPECT_EQ(next(2e8), Pair(1, 20));
  // 99 Hz beside 100 Hz; no number; a number that nobody believes.
  EXPECT_EQ(next(1e9 / 99), Pair(1, 1));
  EXPECT_EQ(next(NAN), Pair(1, 1));
  EXPECT_EQ(next(-1), Pair(1, 1));
  EXPECT_EQ(next(1), Pair(1, 1));
  EXPECT_EQ(next(1e18), Pair(1, 1));
  EXPECT_EQ(weight.period_ns(), 1e7);
  EXPECT_EQ(SaturatingMultiply(INT64_MAX / 2, 3), INT64_MAX);
  EXPECT_EQ(SaturatingMultiply(7, 6), 42);
}

// 2 s of one function on one CPU: 20 Hz, then 5 Hz, then 10 Hz, in every order.
constexpr double kHz[] = {20, 5, 10};

std::string BatchAt(double hz, int64_t start_s) {
  BatchBuilder batch({.frequency_hz = hz});
  const ProcessId process{.pid = 7, .exec_id = 1, .start_time_ns = 1};
  const FrameKey key = FrameKey::Make(FrameType::kKernel, 1, 2);
  FrameSymbols symbols;
  symbols.type = FrameType::kKernel;
  symbols.lines.push_back({.function = "busy"});
  const int32_t frame = batch.DefineFrame(key, symbols);
  batch.DefineProcess(process, {});
  const int64_t start_ns = kTestStartNs + start_s * 1'000'000'000;
  batch.AddSample({.process = process,
                   .frames = {&frame, 1},
                   .time_unix_ns = start_ns,
                   .count = static_cast<int64_t>(2 * hz)});
  return std::move(batch).Seal(start_ns, start_ns + 2'000'000'000)->bytes;
}

TEST(PeriodWeight, PagesAndFilesWeighEverySample) {
  const int orders[][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}};
  for (const auto& order : orders) {
    PageProfile page({.first_bucket_ms = 2000});
    ProfileView view({.first_bucket_ms = 2000});
    for (int i = 0; i < 3; ++i) {
      const std::string bytes = BatchAt(kHz[order[i]], 2 * i);
      const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
      ASSERT_TRUE(walk.ok()) << walk.status();
      page.Add(*walk);
      view.Add(*walk);
    }
    page.Finish();
    EXPECT_EQ(page.period_ns(), 5e7);
    EXPECT_EQ(view.period_ns(), 5e7);
    EXPECT_EQ(page.summary().samples, 70) << "as many were taken";
    // Six seconds of one CPU: 120 samples of 50 ms, the same in every two seconds.
    EXPECT_EQ(view.samples(), 120);
    std::map<int64_t, int64_t> by_time;
    for (size_t i = 0; i < page.rows().size(); ++i)
      by_time[page.rows()[i].bucket] += page.rows()[i].count;
    EXPECT_EQ(by_time, (std::map<int64_t, int64_t>{{0, 40}, {1, 40}, {2, 40}}));
    by_time.clear();
    for (const ViewRow& row : view.Rows()) by_time[row.bucket] += row.count;
    EXPECT_EQ(by_time, (std::map<int64_t, int64_t>{{0, 40}, {1, 40}, {2, 40}}));
  }
}

}  // namespace
}  // namespace stackray
