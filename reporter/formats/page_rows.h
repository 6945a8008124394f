// The counts of a page's profile, packed: as ViewBuckets, in half the memory, for one who gives up
// something else when it becomes too much.
//
// Memory:  16 bytes a row; equal rows are merged whenever a third more came in.
// Threads: one thread owns it. Errors: none; counts saturate at 2^52 - 1.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_ROWS_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_ROWS_H_

#include <cstdint>
#include <vector>

#include "reporter/formats/view_buckets.h"

namespace stackray {

class PageRows {
 public:
  static constexpr size_t kLeastRows = 256;  // Room for them is always there.
  static constexpr int64_t kMostBuckets = 1 << 12;
  static constexpr int64_t kMostCount = (int64_t{1} << 52) - 1;

  // At most kMostBuckets.
  PageRows(int64_t first_width_ms, int64_t max_buckets)
      : width_ms_(first_width_ms), max_buckets_(max_buckets) {}

  // Makes buckets for all of [first_ms, last_ms]; both ≥ 0.
  void Cover(int64_t first_ms, int64_t last_ms);
  // Makes buckets at least this wide: samples are known to no better time than that.
  void Widen(int64_t at_least_ms);
  // Makes each bucket twice as wide, while there are two.
  void Coarsen() {
    if (bucket_count() > 1) Double(1);
  }
  // The time must have been covered; a count below one adds nothing.
  void Add(uint32_t node, uint32_t thread, int64_t time_ms, int64_t count);
  // Every count of a thread that `is_meant` says yes to `factor` times.
  template <typename F>
  void Scale(int64_t factor, F&& is_meant) {
    for (Row& row : rows_)
      if (is_meant(row.thread)) row.count = Scaled(row.count, factor);
  }
  // Other numbers for nodes and threads: node_of[n] instead of n.
  void Renumber(const std::vector<uint32_t>& node_of, const std::vector<uint32_t>& thread_of);
  // Sorts by (thread, bucket, node), one row for each.
  void Merge();

  size_t size() const { return rows_.size(); }
  ViewRow operator[](size_t i) const {
    const Row& row = rows_[i];
    return {row.node, row.thread, static_cast<int64_t>(row.bucket),
            static_cast<int64_t>(row.count)};
  }
  int64_t start_ms() const { return bucket_count() == 0 ? 0 : first_ * width_ms_; }
  int64_t width_ms() const { return width_ms_; }
  int64_t bucket_count() const { return last_ - first_ + 1; }
  size_t bytes() const { return rows_.capacity() * sizeof(Row); }

 private:
  struct Row {
    uint32_t node, thread;
    uint64_t bucket : 12, count : 52;  // Bucket: from first_ on.
  };
  static uint64_t Scaled(uint64_t count, int64_t factor);
  void Double(int times);

  int64_t width_ms_;
  int64_t max_buckets_;
  int64_t first_ = 0, last_ = -1;  // Unix time in milliseconds / width_ms_.
  std::vector<Row> rows_;
  size_t merge_at_ = kLeastRows;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_ROWS_H_
