#include "reporter/page/page_merge.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr int32_t kNothing = INT32_MIN;

}  // namespace

int64_t PageMerge::Expand(const Group& group) {
  int64_t self = 0;
  entries_.clear();
  open_.assign(group.cursors.rbegin(), group.cursors.rend());
  size_t own = open_.size();  // Of these, those that are no hidden callees.
  while (!open_.empty()) {
    const PageCursor cursor = open_.back();
    open_.pop_back();
    const bool is_own = open_.size() < own;
    own = std::min(own, open_.size());
    int64_t below = 0;
    const int64_t factor = cursor.tree->factor;
    TreeNode::At(cursor.place).EachChild([&](const TreePlace& child) {
      below = SaturatingAdd(below, child.total);
      const uint32_t function = cursor.tree->FunctionAt(TreeNode::FrameAt(child));
      const auto item = static_cast<int32_t>(function);
      if ((hides_ && shape_.hidden[function]) || (shape_.fold && group.item == item))
        open_.push_back({cursor.tree, child});
      else
        entries_.push_back({item, SaturatingMultiply(child.total, factor), {cursor.tree, child}});
    });
    if (!is_own && group.item < 0) continue;  // A stack of hidden frames only.
    const int64_t own_value =
        SaturatingMultiply(std::max<int64_t>(cursor.place.total - below, 0), factor);
    const int32_t end = end_groups_.empty() ? PageTree::kRoot : end_groups_[cursor.tree->group];
    if (end != PageTree::kRoot && own_value > 0)
      entries_.push_back({end, own_value, {}});
    else
      self = SaturatingAdd(self, own_value);
  }
  return self;
}

int64_t PageMerge::ShownTotal(const Group& top) {
  int64_t total = 0;
  if (!hides_) {
    for (const PageCursor& cursor : top.cursors)
      total = SaturatingAdd(total, SaturatingMultiply(cursor.place.total, cursor.tree->factor));
    return total;
  }
  total = Expand(top);
  for (const Entry& entry : entries_) total = SaturatingAdd(total, entry.value);
  return total;
}

// Adds up first, so that what is too narrow is not copied: it is the most by far.
std::vector<PageMerge::Group> PageMerge::Groups(int64_t least, int32_t wanted) {
  struct Sum {
    int32_t item;
    uint32_t count;
    int64_t total;
    size_t group;
  };
  std::vector<Sum> sums;
  for (const Entry& entry : entries_) {
    uint32_t& slot = SlotOf(entry.item);
    if (slot == kNoSlot) {
      slot = static_cast<uint32_t>(sums.size());
      sums.push_back({entry.item, 0, 0, SIZE_MAX});
    }
    Sum& sum = sums[slot];
    sum.count += entry.cursor.tree != nullptr ? 1 : 0;
    sum.total = SaturatingAdd(sum.total, entry.value);
  }
  std::vector<Group> groups;
  for (Sum& sum : sums) {
    if (wanted != kNothing ? sum.item != wanted : sum.total < least) continue;
    sum.group = groups.size();
    groups.push_back({.item = sum.item, .cursors = {}, .total = sum.total});
    groups.back().cursors.reserve(sum.count);
  }
  for (const Entry& entry : entries_) {
    const Sum& sum = sums[SlotOf(entry.item)];
    if (sum.group != SIZE_MAX && entry.cursor.tree != nullptr)
      groups[sum.group].cursors.push_back(entry.cursor);
  }
  for (const Sum& sum : sums) SlotOf(sum.item) = kNoSlot;
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    return a.total != b.total ? a.total > b.total : a.item < b.item;
  });
  return groups;
}

void PageMerge::DrawBelow(const Group& top, int32_t node, int64_t least, PageTree* out) {
  out->self[static_cast<size_t>(node)] = Expand(top);
  const int32_t wanted = way_.empty() ? kNothing : way_[0];
  Draw(Groups(least, wanted), node, least, out);
}

void PageMerge::Draw(std::vector<Group> tops, int32_t parent, int64_t least, PageTree* out) {
  std::vector<Level> levels;
  levels.push_back({.groups = std::move(tops), .parent = parent, .least = least});
  while (!levels.empty() && !stop_.stop_requested() && out->item.size() < most_nodes_) {
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
    if (group.cursors.empty()) {  // What ends in a group.
      out->self[static_cast<size_t>(node)] = group.total;
      continue;
    }
    out->self[static_cast<size_t>(node)] = Expand(group);
    const int32_t wanted = way < way_.size() ? way_[way] : kNothing;
    std::vector<Group> below = Groups(narrow, wanted);
    if (!below.empty())
      levels.push_back({.groups = std::move(below), .parent = node, .least = narrow, .way = way});
  }
}

}  // namespace stackray
