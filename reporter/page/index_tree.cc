#include "reporter/page/index_tree.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

// Writes from the last node to the first, each before what it precedes, and turns all around.
class Packer {
 public:
  // `values`: by entry. No `rows`: nodes have none.
  Packer(const std::vector<TreeEntry>& entries, std::vector<int64_t> values,
         const std::vector<TreeRow>* rows)
      : entries_(entries),
        rows_(rows),
        totals_(std::move(values)),
        has_value_(entries.size()),
        children_(entries.size()),
        begins_(entries.size(), SIZE_MAX),
        places_(entries.size()) {
    for (size_t i = 0; i < entries.size(); ++i) has_value_[i] = totals_[i] > 0;
    for (size_t i = entries.size(); i-- > 1;) {
      int64_t& above = totals_[entries[i].parent];
      above = SaturatingAdd(above, totals_[i]);
      ++children_[entries[i].parent];
    }
    if (rows_ == nullptr) return;
    first_row_.resize(entries.size() + 1);
    for (const TreeRow& row : *rows_) ++first_row_[row.entry + 1];
    for (size_t i = 0; i < entries.size(); ++i) first_row_[i + 1] += first_row_[i];
  }

  std::string Pack() {
    for (size_t i = entries_.size(); i-- > 0;) Write(i);
    std::reverse(out_.begin(), out_.end());
    for (size_t& place : places_) place = out_.size() - place;
    return std::move(out_);
  }
  // Of each entry's node in the bytes, once they are packed.
  std::vector<size_t> TakePlaces() { return std::move(places_); }

 private:
  NodeKind KindOf(size_t entry) const {
    if (children_[entry] == 0) return NodeKind::kLeaf;
    if (has_value_[entry]) return NodeKind::kMixed;
    return children_[entry] == 1 ? NodeKind::kChain : NodeKind::kBranch;
  }

  void Write(size_t entry) {
    const NodeKind kind = KindOf(entry);
    const size_t begin = children_[entry] == 0 ? out_.size() : begins_[entry];
    if (kind == NodeKind::kBranch || kind == NodeKind::kMixed)
      AppendNumberBackwards(children_[entry], &out_);
    if (kind == NodeKind::kLeaf || kind == NodeKind::kMixed) WriteRows(entry);
    AppendNumberBackwards(uint64_t{entries_[entry].frame} << 2 | static_cast<uint8_t>(kind), &out_);
    places_[entry] = out_.size();
    if (entry == 0) return;
    const uint32_t parent = entries_[entry].parent;
    if (begins_[parent] == SIZE_MAX) begins_[parent] = begin;
    if (KindOf(parent) == NodeKind::kChain) return;
    AppendNumberBackwards(out_.size() - begin, &out_);
    AppendNumberBackwards(static_cast<uint64_t>(totals_[entry]), &out_);
  }

  void WriteRows(size_t entry) {
    const size_t begin = out_.size();
    if (rows_ != nullptr)
      for (size_t i = first_row_[entry + 1]; i-- > first_row_[entry];) {
        const TreeRow& row = (*rows_)[i];
        AppendNumberBackwards(static_cast<uint64_t>(row.count), &out_);
        const uint32_t before = i == first_row_[entry] ? 0 : (*rows_)[i - 1].second;
        AppendNumberBackwards(row.second - before, &out_);
      }
    AppendNumberBackwards(out_.size() - begin, &out_);
  }

  const std::vector<TreeEntry>& entries_;
  const std::vector<TreeRow>* const rows_;
  std::vector<int64_t> totals_;
  std::vector<bool> has_value_;
  std::vector<uint32_t> children_;
  std::vector<size_t> begins_;  // Where the last child's bytes begin, seen from the end.
  std::vector<size_t> places_, first_row_;
  std::string out_;
};

}  // namespace

std::string PackTree(const std::vector<TreeEntry>& entries, const std::vector<TreeRow>& rows) {
  std::vector<int64_t> values(entries.size());
  for (const TreeRow& row : rows) values[row.entry] = SaturatingAdd(values[row.entry], row.count);
  return Packer(entries, std::move(values), &rows).Pack();
}

std::string PackTreeOfValues(const std::vector<TreeEntry>& entries,
                             const std::vector<int64_t>& values, std::vector<size_t>* places) {
  Packer packer(entries, values, nullptr);
  std::string bytes = packer.Pack();
  if (places != nullptr) *places = packer.TakePlaces();
  return bytes;
}

}  // namespace stackray
