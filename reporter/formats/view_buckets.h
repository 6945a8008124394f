// The rows of a profile view: how much of which call-tree node and thread in which slice of time.
//
// Nobody knows beforehand how long a recording becomes, so the width of a slice ("bucket") starts
// small and doubles whenever there would be too many of them, or too many rows.
//
// Memory:  32 bytes a row; the caller bounds new rows by `may_add`.
// Threads: one thread owns it. Errors: none; counts saturate.
#ifndef STACKRAY_REPORTER_FORMATS_VIEW_BUCKETS_H_
#define STACKRAY_REPORTER_FORMATS_VIEW_BUCKETS_H_

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/period_weight.h"

namespace stackray {

// a + b, or the largest number. Both are ≥ 0.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

struct ViewRow {
  uint32_t node = 0;
  uint32_t thread = 0;
  int64_t bucket = 0;  // 0 is the first.
  int64_t count = 0;

  friend bool operator==(const ViewRow&, const ViewRow&) = default;
};

// Sorts by (thread, bucket, node) and adds up rows that agree in all three.
void SortAndMerge(std::vector<ViewRow>* rows);

class ViewBuckets {
 public:
  ViewBuckets(int64_t first_width_ms, int64_t max_buckets, size_t max_rows)
      : width_ms_(first_width_ms), max_buckets_(max_buckets), max_rows_(max_rows) {}

  // Makes buckets for all of [first_ms, last_ms]; both ≥ 0.
  void Cover(int64_t first_ms, int64_t last_ms);
  // Makes buckets at least this wide: samples are known to no better time than that.
  void Widen(int64_t at_least_ms);
  // False, and nothing is added, when this needs a new row and `may_add` is false. The time must
  // have been covered.
  bool Add(uint32_t node, uint32_t thread, int64_t time_ms, int64_t count, bool may_add);

  // Every count of a thread that `is_meant` says yes to `factor` times.
  template <typename F>
  void Scale(int64_t factor, F&& is_meant) {
    for (auto& [key, count] : rows_)
      if (is_meant(key.thread)) count = SaturatingMultiply(count, factor);
  }

  int64_t start_ms() const { return bucket_count() == 0 ? 0 : first_ * width_ms_; }
  int64_t width_ms() const { return width_ms_; }
  int64_t bucket_count() const { return last_ - first_ + 1; }
  size_t bytes() const { return rows_.capacity() * (sizeof(Key) + sizeof(int64_t) + 1); }
  // By (thread, bucket, node): the same whatever the order of the batches was.
  std::vector<ViewRow> SortedRows() const;

 private:
  struct Key {
    uint32_t node, thread;
    int64_t bucket;  // Unix time in milliseconds / width_ms_.
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.node, k.thread, k.bucket);
    }
  };
  void Double(int times);

  int64_t width_ms_;
  int64_t max_buckets_;
  size_t max_rows_;
  int64_t first_ = 0, last_ = -1;
  absl::flat_hash_map<Key, int64_t> rows_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_VIEW_BUCKETS_H_
