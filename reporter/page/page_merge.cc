#include "reporter/page/page_merge.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr int32_t kNothing = INT32_MIN;

}  // namespace

int64_t PageMerge::Expand(const Group& group, std::vector<Entry>* entries) const {
  int64_t self = 0;
  std::vector<PageCursor> open(group.cursors.rbegin(), group.cursors.rend());
  size_t own = open.size();  // Of these, those that are no hidden callees.
  while (!open.empty()) {
    const PageCursor cursor = open.back();
    open.pop_back();
    const bool is_own = open.size() < own;
    own = std::min(own, open.size());
    int64_t below = 0;
    TreeNode::At(cursor.place).EachChild([&](const TreePlace& child) {
      below = SaturatingAdd(below, child.total);
      const uint32_t function = cursor.index->frame(TreeNode::FrameAt(child)).function;
      const PageCursor next{cursor.index, child, cursor.factor};
      const bool repeats = shape_.fold && group.item == static_cast<int32_t>(function);
      if (shape_.hidden[function] || repeats)
        open.push_back(next);
      else
        entries->push_back({function, next});
    });
    if (!is_own && group.item < 0) continue;  // A stack of hidden frames only.
    self = SaturatingAdd(
        self, SaturatingMultiply(std::max<int64_t>(cursor.place.total - below, 0), cursor.factor));
  }
  return self;
}

int64_t PageMerge::ShownTotal(const Group& top) const {
  int64_t total = 0;
  if (!hides_) {
    for (const PageCursor& cursor : top.cursors)
      total = SaturatingAdd(total, SaturatingMultiply(cursor.place.total, cursor.factor));
    return total;
  }
  std::vector<Entry> entries;
  total = Expand(top, &entries);
  for (const Entry& entry : entries)
    total = SaturatingAdd(total, SaturatingMultiply(entry.cursor.place.total, entry.cursor.factor));
  return total;
}

std::vector<PageMerge::Group> PageMerge::Groups(std::vector<Entry> entries, int64_t least,
                                                int32_t wanted) const {
  std::ranges::stable_sort(entries, {}, &Entry::function);
  std::vector<Group> groups;
  for (size_t begin = 0; begin < entries.size();) {
    size_t end = begin;
    int64_t total = 0;
    for (; end < entries.size() && entries[end].function == entries[begin].function; ++end) {
      const PageCursor& cursor = entries[end].cursor;
      total = SaturatingAdd(total, SaturatingMultiply(cursor.place.total, cursor.factor));
    }
    const auto item = static_cast<int32_t>(entries[begin].function);
    if (total >= least || item == wanted) {
      Group group{.item = item, .cursors = {}, .total = total};
      group.cursors.reserve(end - begin);
      for (size_t i = begin; i < end; ++i) group.cursors.push_back(entries[i].cursor);
      groups.push_back(std::move(group));
    }
    begin = end;
  }
  std::ranges::stable_sort(groups, std::greater(), &Group::total);
  return groups;
}

void PageMerge::DrawBelow(const Group& top, int32_t node, int64_t least, PageTree* out) {
  std::vector<Entry> entries;
  out->self[static_cast<size_t>(node)] = Expand(top, &entries);
  const int32_t wanted = way_.empty() ? kNothing : way_[0];
  Draw(Groups(std::move(entries), least, wanted), node, least, out);
}

void PageMerge::Draw(std::vector<Group> tops, int32_t parent, int64_t least, PageTree* out) {
  std::vector<Level> levels;
  levels.push_back({.groups = std::move(tops), .parent = parent, .least = least});
  while (!levels.empty() && !stop_.stop_requested()) {
    Level& level = levels.back();
    if (level.next == level.groups.size()) {
      levels.pop_back();
      continue;
    }
    const Group group = std::move(level.groups[level.next++]);
    const int32_t node = out->Add(group.item, level.parent, group.total);
    const size_t way = Follow(level.way, group.item);
    const bool is_zoom = way == way_.size() && way != 0;
    const int64_t narrow = is_zoom ? shape_.Least(group.total) : level.least;
    std::vector<Entry> entries;
    out->self[static_cast<size_t>(node)] = Expand(group, &entries);
    const int32_t wanted = way < way_.size() ? way_[way] : kNothing;
    std::vector<Group> below = Groups(std::move(entries), narrow, wanted);
    if (!below.empty())
      levels.push_back({.groups = std::move(below), .parent = node, .least = narrow, .way = way});
  }
}

}  // namespace stackray
