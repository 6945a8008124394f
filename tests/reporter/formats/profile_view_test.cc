#include "reporter/formats/profile_view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "reporter/formats/folded.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

DecodedBatch Example(int64_t start = kTestStartNs) {
  TestBatch test(start);
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t main = test.Native("main");
  test.Sample(app, {main, test.Inlined({"inner()", "outer()"})}, 3, 43, "worker", {0, 10, 900});
  test.Sample(app, {main}, 2, 42, "app", {20, 20});
  return test.batch;
}

TEST(ProfileView, SameContentTakesNoMoreMemory) {
  ProfileView view;
  AddTo(&view, Example());
  const size_t nodes = view.nodes().size(), locations = view.locations().size();
  const size_t threads = view.threads().size(), bytes = view.bytes();
  for (int i = 0; i < 1000; ++i) AddTo(&view, Example());
  EXPECT_EQ(view.nodes().size(), nodes);
  EXPECT_EQ(view.locations().size(), locations);
  EXPECT_EQ(view.threads().size(), threads);
  EXPECT_EQ(view.bytes(), bytes);
  EXPECT_EQ(view.samples(), 5 * 1001);
  EXPECT_EQ(FoldedText(view), "app;main 2002\napp;main;outer();inner()_[i] 3003\n");
}

TEST(ProfileView, HeadOfTheProfile) {
  ProfileView view;
  AddTo(&view, Example(kTestStartNs + 2'000'000'000));
  AddTo(&view, Example());
  EXPECT_EQ(view.start_unix_ns(), kTestStartNs);
  EXPECT_EQ(view.end_unix_ns(), kTestStartNs + 3'000'000'000);
  EXPECT_EQ(view.period_ns(), 1e7);
  EXPECT_EQ(view.host_name(), "build-host");
  EXPECT_EQ(view.bucket_start_ms(), kTestStartNs / kMillisecond);
  EXPECT_EQ(view.bucket_ms(), 20);  // 3 s are 300 buckets of 10 ms, and 240 are allowed.
}

TEST(ProfileView, TimestampsChooseTheBucket) {
  ProfileView view;
  AddTo(&view, Example());
  const auto rows = view.Rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].bucket, 0);
  EXPECT_EQ(rows[1].bucket, 1);
  EXPECT_EQ(rows[2].bucket, 90);
  EXPECT_EQ(rows[3].bucket, 2);
  EXPECT_EQ(rows[3].count, 2);
  EXPECT_NE(rows[3].thread, rows[0].thread);
}

TEST(ProfileView, WithoutTimestampsBucketsAreAsWideAsTheBatch) {
  ProfileView view;
  for (int i = 0; i < 4; ++i) {
    TestBatch test(kTestStartNs + i * 1'000'000'000LL);
    test.Sample(test.Process(1, "app", ""), {test.Native("main")}, 7);
    AddTo(&view, test.batch);
  }
  EXPECT_EQ(view.bucket_ms(), 1280);
  EXPECT_EQ(view.samples(), 28);
}

// Batches of 2.003 s in buckets of 2.56 s: the bars must not go up and down by themselves.
TEST(ProfileView, SamplesWithoutTimesAreSpreadOverTheirBatch) {
  ProfileView view;
  constexpr int kBatches = 40, kRows = 250;
  constexpr int64_t kBatchNs = 2'003'000'000;
  for (int i = 0; i < kBatches; ++i) {
    TestBatch test(kTestStartNs + i * kBatchNs);
    test.batch.duration_ns = kBatchNs;
    for (int pid = 0; pid < kRows; ++pid)
      test.Sample(test.Process(pid, "app", ""), {test.Native("main")}, pid % 3 == 0 ? 4 : 1);
    AddTo(&view, test.batch);
  }
  EXPECT_EQ(view.bucket_ms(), 2560);
  std::vector<int64_t> bars(static_cast<size_t>(view.bucket_count()));
  for (const ViewRow& row : view.Rows()) bars[static_cast<size_t>(row.bucket)] += row.count;
  const int64_t all = std::accumulate(bars.begin(), bars.end(), int64_t{0});
  EXPECT_EQ(all, view.samples());
  const double expected = static_cast<double>(all) * 2560 / (kBatches * 2003);
  for (size_t i = 1; i + 1 < bars.size(); ++i)
    EXPECT_NEAR(static_cast<double>(bars[i]), expected, expected / 50) << i;
}

TEST(ProfileView, OnlyTheChosenTimeIsKept) {
  ProfileView view({.from_unix_ns = kTestStartNs + 10 * kMillisecond,
                    .to_unix_ns = kTestStartNs + 900 * kMillisecond});
  AddTo(&view, Example());
  AddTo(&view, Example(kTestStartNs + 5'000'000'000));
  EXPECT_EQ(view.samples(), 3);  // At 10, 20 and 20 ms.
  EXPECT_EQ(view.start_unix_ns(), kTestStartNs + 10 * kMillisecond);
  EXPECT_EQ(view.end_unix_ns(), kTestStartNs + 900 * kMillisecond);
  EXPECT_EQ(view.bucket_count(), 89);
}

TEST(ProfileView, CountsThatAreNoMultipleOfTheirTimestampsAreKept) {
  TestBatch test;
  test.Sample(test.Process(1, "app", ""), {test.Native("main")}, 5, 0, "", {0, 100, 200});
  test.Sample(0, {}, 1, 0, "", {0, 100, 200});
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_EQ(view.samples(), 6);
}

// The number of distinct stacks is without bound; the memory is not, and no sample goes missing.
TEST(ProfileView, FullViewStaysInItsBoundsAndCountsEverySample) {
  constexpr size_t kMaxBytes = 1 << 20;
  ProfileView view({.max_bytes = kMaxBytes});
  for (int i = 0; i < 500; ++i) {
    TestBatch test(kTestStartNs + i * 1'000'000'000LL);
    const int32_t app = test.Process(i, "app" + std::to_string(i), "/usr/bin/app");
    for (int k = 0; k < 100; ++k) {
      const int32_t frame = test.Native("f" + std::to_string(i) + "_" + std::to_string(k));
      test.Sample(app, {frame}, 1, i, "thread" + std::to_string(i));
    }
    AddTo(&view, test.batch);
    ASSERT_LT(view.bytes(), 3 * kMaxBytes);  // Tables double when they grow.
  }
  EXPECT_EQ(view.samples(), 50'000);
  EXPECT_GT(view.overflowed(), 10'000);
  const std::string folded = FoldedText(view);
  EXPECT_NE(
      folded.find("[host];[truncated: view full] " + std::to_string(view.overflowed()) + "\n"),
      std::string::npos);
  EXPECT_NE(folded.find("app0;f0_0 1\n"), std::string::npos);
}

TEST(ProfileView, ImpossibleBatchesDoNoHarm) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "");
  const int32_t main = test.Native("main");
  test.Sample(app, {main, 99, -5}, 1);  // Frames that are not there.
  test.Sample(77, {main}, 2);           // A process that is not there.
  test.Sample(-1, {main}, 4);
  test.Sample(app, {main}, -8);  // Counts below one are no samples.
  test.Sample(app, {main}, 0);
  test.Sample(app, {main}, INT64_MAX, 0, "", {INT64_MIN / 2'000'000, INT64_MAX / 2'000'000});
  test.batch.duration_ns = INT64_MAX;
  test.batch.period_ns = -1;
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_EQ(view.samples(), INT64_MAX);
  EXPECT_EQ(FoldedText(view), "[host];main 6\napp;main 9223372036854775807\n");
  EXPECT_EQ(view.end_unix_ns(), INT64_MAX);
}

TEST(ProfileView, PidsThatAreNoNumbersAreTheHost) {
  TestBatch test;
  DecodedResource resource;
  resource.attributes = {{"process.pid", "x"}};
  test.batch.resources.push_back(resource);
  test.Sample(0, {test.Native("main")}, 1);
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_EQ(FoldedText(view), "[host];main 1\n");
}

}  // namespace
}  // namespace stackray
