#include "reporter/formats/view_buckets.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

constexpr int64_t kStartMs = 1'790'000'000'000;  // A multiple of 10 · 2^k up to k = 11.

int64_t Sum(const std::vector<ViewRow>& rows) {
  int64_t sum = 0;
  for (const ViewRow& row : rows) sum += row.count;
  return sum;
}

TEST(ViewBuckets, RowsAreSortedAndAddedUp) {
  ViewBuckets buckets(10, 240, 1000);
  buckets.Cover(kStartMs, kStartMs + 999);
  EXPECT_EQ(buckets.start_ms(), kStartMs);
  EXPECT_EQ(buckets.bucket_count(), 100);
  EXPECT_TRUE(buckets.Add(2, 1, kStartMs + 15, 1, true));
  EXPECT_TRUE(buckets.Add(1, 1, kStartMs + 25, 2, true));
  EXPECT_TRUE(buckets.Add(1, 1, kStartMs + 29, 4, true));
  EXPECT_TRUE(buckets.Add(9, 0, kStartMs + 999, 8, true));
  EXPECT_EQ(buckets.SortedRows(),
            (std::vector<ViewRow>{{9, 0, 99, 8}, {2, 1, 1, 1}, {1, 1, 2, 6}}));
}

TEST(ViewBuckets, TooManyBucketsDoubleTheirWidthAndKeepEveryCount) {
  ViewBuckets buckets(10, 240, 100'000);
  for (int64_t second = 0; second < 60; ++second) {
    const int64_t start = kStartMs + second * 1000;
    buckets.Cover(start, start + 999);
    for (int i = 0; i < 100; ++i) buckets.Add(1, 1, start + i * 10, 1, true);
  }
  EXPECT_EQ(buckets.width_ms(), 320);  // 60 s / 240 = 250 ms.
  EXPECT_EQ(buckets.start_ms(), kStartMs);
  EXPECT_EQ(buckets.bucket_count(), 188);
  const auto rows = buckets.SortedRows();
  EXPECT_EQ(rows.size(), 188u);
  EXPECT_EQ(Sum(rows), 6000);
  EXPECT_EQ(rows[0].count, 32);
}

TEST(ViewBuckets, EarlierTimesMoveTheStart) {
  ViewBuckets buckets(10, 240, 1000);
  buckets.Cover(kStartMs, kStartMs + 9);
  buckets.Add(1, 1, kStartMs, 1, true);
  buckets.Cover(kStartMs - 20, kStartMs - 11);
  EXPECT_EQ(buckets.start_ms(), kStartMs - 20);
  EXPECT_EQ(buckets.SortedRows(), (std::vector<ViewRow>{{1, 1, 2, 1}}));
}

TEST(ViewBuckets, AbsurdTimesEndInWideBucketsNotInMemory) {
  ViewBuckets buckets(10, 240, 1000);
  buckets.Cover(0, 0);
  buckets.Add(1, 1, 0, 1, true);
  buckets.Cover(INT64_MAX / 1'000'000, INT64_MAX / 1'000'000);
  buckets.Add(1, 1, INT64_MAX / 1'000'000, 2, true);
  EXPECT_LE(buckets.bucket_count(), 240);
  EXPECT_EQ(Sum(buckets.SortedRows()), 3);
}

TEST(ViewBuckets, TooManyRowsWidenUntilOneBucketIsLeft) {
  ViewBuckets buckets(10, 240, 50);
  buckets.Cover(kStartMs, kStartMs + 999);
  for (int i = 0; i < 1000; ++i) buckets.Add(i % 10, 1, kStartMs + i, 1, true);
  EXPECT_LE(buckets.SortedRows().size(), 50u);
  EXPECT_GT(buckets.width_ms(), 10);
  EXPECT_EQ(Sum(buckets.SortedRows()), 1000);
}

TEST(ViewBuckets, WithoutPermissionOnlyKnownRowsGrow) {
  ViewBuckets buckets(10, 240, 50);
  buckets.Cover(kStartMs, kStartMs);
  EXPECT_FALSE(buckets.Add(1, 1, kStartMs, 1, false));
  EXPECT_TRUE(buckets.Add(1, 1, kStartMs, 1, true));
  EXPECT_TRUE(buckets.Add(1, 1, kStartMs, 1, false));
  EXPECT_EQ(buckets.SortedRows(), (std::vector<ViewRow>{{1, 1, 0, 2}}));
}

TEST(ViewBuckets, CountsSaturate) {
  ViewBuckets buckets(10, 240, 50);
  buckets.Cover(kStartMs, kStartMs);
  buckets.Add(1, 1, kStartMs, INT64_MAX, true);
  buckets.Add(1, 1, kStartMs, 5, true);
  EXPECT_EQ(buckets.SortedRows()[0].count, INT64_MAX);
}

}  // namespace
}  // namespace stackray
