#include "reporter/formats/view_buckets.h"

#include <algorithm>

namespace stackray {

void SortAndMerge(std::vector<ViewRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const ViewRow& a, const ViewRow& b) {
    return std::tie(a.thread, a.bucket, a.node) < std::tie(b.thread, b.bucket, b.node);
  });
  size_t kept = 0;
  for (const ViewRow& row : *rows) {
    ViewRow* last = kept == 0 ? nullptr : &(*rows)[kept - 1];
    if (last != nullptr && last->thread == row.thread && last->bucket == row.bucket &&
        last->node == row.node) {
      last->count = SaturatingAdd(last->count, row.count);
    } else {
      (*rows)[kept++] = row;
    }
  }
  rows->resize(kept);
}

void ViewBuckets::Cover(int64_t first_ms, int64_t last_ms) {
  int64_t first = first_ms / width_ms_;
  int64_t last = std::max(last_ms, first_ms) / width_ms_;
  if (bucket_count() > 0) {
    first = std::min(first, first_);
    last = std::max(last, last_);
  }
  int times = 0;
  while ((last >> times) - (first >> times) >= max_buckets_) ++times;
  Double(times);
  first_ = first >> times;
  last_ = last >> times;
}

void ViewBuckets::Widen(int64_t at_least_ms) {
  int times = 0;
  while (times < 40 && (width_ms_ << times) < at_least_ms) ++times;
  Double(times);
}

bool ViewBuckets::Add(uint32_t node, uint32_t thread, int64_t time_ms, int64_t count,
                      bool may_add) {
  Key key{node, thread, std::clamp(time_ms / width_ms_, first_, last_)};
  auto found = rows_.find(key);
  if (found == rows_.end()) {
    if (!may_add) return false;
    while (rows_.size() >= max_rows_ && bucket_count() > 1) {
      Double(1);
      key.bucket >>= 1;
    }
    found = rows_.try_emplace(key, 0).first;
  }
  found->second = SaturatingAdd(found->second, count);
  return true;
}

void ViewBuckets::Double(int times) {
  if (times == 0) return;
  absl::flat_hash_map<Key, int64_t> wider;
  for (const auto& [key, count] : rows_) {
    int64_t& sum = wider[Key{key.node, key.thread, key.bucket >> times}];
    sum = SaturatingAdd(sum, count);
  }
  rows_ = std::move(wider);
  width_ms_ <<= times;
  if (bucket_count() == 0) return;
  first_ >>= times;
  last_ >>= times;
}

std::vector<ViewRow> ViewBuckets::SortedRows() const {
  std::vector<ViewRow> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, count] : rows_) {
    rows.push_back({key.node, key.thread, key.bucket - first_, count});
  }
  SortAndMerge(&rows);
  return rows;
}

}  // namespace stackray
