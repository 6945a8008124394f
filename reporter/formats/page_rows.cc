#include "reporter/formats/page_rows.h"

#include <algorithm>
#include <tuple>

#include "reporter/formats/period_weight.h"

namespace stackray {

void PageRows::Cover(int64_t first_ms, int64_t last_ms) {
  int64_t first = first_ms / width_ms_;
  int64_t last = std::max(last_ms, first_ms) / width_ms_;
  if (bucket_count() > 0) {
    first = std::min(first, first_);
    last = std::max(last, last_);
  }
  int times = 0;
  while ((last >> times) - (first >> times) >= max_buckets_) ++times;
  Double(times);
  first >>= times;
  if (bucket_count() > 0 && first < first_) {
    const auto shift = static_cast<uint64_t>(first_ - first);
    for (Row& row : rows_) row.bucket += shift;
  }
  first_ = first;
  last_ = last >> times;
}

void PageRows::Widen(int64_t at_least_ms) {
  int times = 0;
  while (times < 40 && (width_ms_ << times) < at_least_ms) ++times;
  Double(times);
}

void PageRows::Double(int times) {
  if (times == 0) return;
  width_ms_ <<= times;
  if (bucket_count() == 0) return;
  for (Row& row : rows_) {
    const int64_t bucket = first_ + static_cast<int64_t>(row.bucket);
    row.bucket = static_cast<uint64_t>((bucket >> times) - (first_ >> times));
  }
  first_ >>= times;
  last_ >>= times;
  Merge();
}

void PageRows::Add(uint32_t node, uint32_t thread, int64_t time_ms, int64_t count) {
  if (count <= 0) return;
  if (rows_.size() >= merge_at_) Merge();
  const int64_t bucket = std::clamp(time_ms / width_ms_, first_, last_) - first_;
  rows_.push_back({node, thread, static_cast<uint64_t>(bucket),
                   static_cast<uint64_t>(std::min(count, kMostCount))});
}

uint64_t PageRows::Scaled(uint64_t count, int64_t factor) {
  return static_cast<uint64_t>(
      std::min(SaturatingMultiply(static_cast<int64_t>(count), factor), kMostCount));
}

void PageRows::Renumber(const std::vector<uint32_t>& node_of,
                        const std::vector<uint32_t>& thread_of) {
  for (Row& row : rows_) {
    row.node = node_of[row.node];
    row.thread = thread_of[row.thread];
  }
  Merge();
}

void PageRows::Merge() {
  const auto place = [](const Row& row) {
    return std::tuple(row.thread, uint64_t{row.bucket}, row.node);
  };
  std::ranges::sort(rows_, {}, place);
  size_t kept = 0;
  for (const Row& row : rows_) {
    Row* last = kept == 0 ? nullptr : &rows_[kept - 1];
    if (last != nullptr && place(*last) == place(row)) {
      const uint64_t sum = uint64_t{last->count} + row.count;
      last->count = std::min<uint64_t>(sum, kMostCount);
    } else {
      rows_[kept++] = row;
    }
  }
  rows_.resize(kept);
  merge_at_ = std::max(kept + kept / 3, kLeastRows);
  if (rows_.capacity() > 2 * merge_at_) rows_.shrink_to_fit();
  rows_.reserve(merge_at_);
}

}  // namespace stackray
