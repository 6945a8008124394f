#include "reporter/page/page_tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_merge.h"
#include "reporter/page/page_scan.h"
#include "reporter/page/page_ways.h"

namespace stackray {
namespace {

// Finds a way by its key: the first tree that has it is enough.
class WayFinder {
 public:
  WayFinder(const PageStore& store, const PageSelection& selection, const PageShape& shape,
            const std::stop_token& stop)
      : selection_(selection), shape_(shape), stop_(stop), texts_(store.tables()) {}

  // Items from the one below the root on; empty: there is none.
  std::vector<int32_t> Find() {
    std::vector<uint64_t> top_keys;
    for (const std::string& label : selection_.groups)
      top_keys.push_back(label.empty() ? 0 : StepKey(GroupKey(label), 0));
    for (size_t i = 0; i < top_keys.size(); ++i)
      if (top_keys[i] == shape_.zoom) return {PageTree::kFirstGroup - static_cast<int32_t>(i)};
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) return {};
      steps_.assign(1, {top_keys[tree.group], 0});
      if (!FindIn(tree)) continue;
      std::vector<int32_t> way;
      if (!selection_.groups[tree.group].empty())
        way.push_back(PageTree::kFirstGroup - static_cast<int32_t>(tree.group));
      for (size_t i = 1; i < steps_.size(); ++i)
        way.push_back(static_cast<int32_t>(steps_[i].function));
      return way;
    }
    return {};
  }

 private:
  struct Step {
    uint64_t key = 0;
    uint32_t function = 0;
  };

  bool Skips(uint32_t function) const {
    return shape_.hidden[function] ||
           (shape_.fold && steps_.size() > 1 && steps_.back().function == function);
  }

  bool FindIn(const SelectedTree& tree) {
    bool found = false;
    std::vector<bool> skipped;  // Of the open nodes.
    WalkTree(
        tree.root->tree, stop_,
        [&](const TreePlace&, uint32_t frame, int64_t) {
          if (found) return false;
          const uint32_t function = tree.index->frame(frame).function;
          skipped.push_back(Skips(function));
          if (skipped.back()) return true;
          const uint64_t key = MixKey(texts_.Of(function), steps_.back().key);
          steps_.push_back({key, function});
          found = key == shape_.zoom;
          return !found;
        },
        [&](uint32_t) {
          if (found) return;
          if (!skipped.back()) steps_.pop_back();
          skipped.pop_back();
        });
    return found;
  }

  const PageSelection& selection_;
  const PageShape& shape_;
  const std::stop_token& stop_;
  PageKeyTexts texts_;
  std::vector<Step> steps_;  // The way to the present node, the top's first.
};

}  // namespace

PageTree BuildTree(const PageStore& store, const PageSelection& selection, const PageShape& shape,
                   const std::stop_token& stop) {
  std::vector<int32_t> way;
  if (shape.zoom != 0) way = WayFinder(store, selection, shape, stop).Find();
  const int32_t wanted = way.empty() ? 0 : way[0];
  PageMerge merge(shape, std::move(way), stop);
  std::vector<PageMerge::Group> groups(selection.groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i].item = PageTree::kFirstGroup - static_cast<int32_t>(i);
  for (const SelectedTree& tree : selection.trees)
    groups[tree.group].cursors.push_back({tree.index, tree.root->tree, tree.factor});
  int64_t total = 0;
  for (PageMerge::Group& group : groups)
    total = SaturatingAdd(total, group.total = merge.ShownTotal(group));
  PageTree tree;
  tree.Add(PageTree::kRoot, -1, total);
  const int64_t least = shape.Least(total);
  if (groups.size() == 1 && selection.groups[0].empty()) {
    merge.DrawBelow(groups[0], 0, least, &tree);
    return tree;
  }
  std::erase_if(groups, [&](const PageMerge::Group& group) {
    return group.total == 0 || (group.total < least && group.item != wanted);
  });
  std::ranges::stable_sort(groups, std::greater(), &PageMerge::Group::total);
  merge.Draw(std::move(groups), 0, least, &tree);
  return tree;
}

namespace {

// All ways from innermost functions outwards. Few of them are wide enough to be seen, so they grow
// in rounds, and only where what they have so far is: each round goes through all samples.
class InvertedTree {
 public:
  InvertedTree(const PageSelection& selection, const PageShape& shape, const std::stop_token& stop)
      : selection_(selection), shape_(shape), stop_(stop) {
    int64_t total = 0;
    for (const SelectedTree& tree : selection.trees)
      total = SaturatingAdd(total, SaturatingMultiply(tree.root->total, tree.factor));
    // What is zoomed to has a part of that, which is not known yet.
    least_ = shape.Least(shape.zoom != 0 ? total / kZoomed : total);
  }

  PageWays Make() {
    Round(least_ > 1 ? kFirstLength : SIZE_MAX);
    for (size_t length = kFirstLength * 4; least_ > 1 && grown_; length *= 4) Round(length);
    return std::move(ways_);
  }

 private:
  static constexpr size_t kFirstLength = 2;
  static constexpr int64_t kZoomed = 64;

  void Round(size_t length) {
    const std::vector<int64_t> totals = ways_.Totals();
    PageWays next;
    grown_ = false;
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) break;
      const int32_t group = GroupItem(selection_, tree.group);
      ShownWay way(shape_);
      const auto take = [&](int64_t self) {
        if (self > 0) Take(way.way(), group, length, totals, self, tree.factor, &next);
      };
      const int64_t of_top = WalkTree(
          tree.root->tree, stop_,
          [&](const TreePlace&, uint32_t frame, int64_t self) {
            way.Enter(tree.index->frame(frame).function);
            if (!way.way().empty()) take(self);
            return true;
          },
          [&](uint32_t) { way.Leave(); });
      take(of_top);
    }
    ways_ = std::move(next);
  }

  void Take(const std::vector<uint32_t>& way, int32_t group, size_t length,
            const std::vector<int64_t>& totals, int64_t self, int64_t factor, PageWays* next) {
    const size_t whole = way.size() + (group == PageTree::kRoot ? 0 : 1);
    uint32_t known = 0, to = 0;
    size_t at = 0;
    for (; at < whole && at < length; ++at) {
      const int32_t item = at < way.size() ? static_cast<int32_t>(way[way.size() - 1 - at]) : group;
      if (at * 4 < length && length > kFirstLength && length != SIZE_MAX) {
        known = ways_.Find(known, item);
        if (known == kNoId || totals[known] < least_) break;
      }
      to = next->Step(to, item);
    }
    grown_ |= at == length && at < whole;
    next->Add(to, SaturatingMultiply(self, factor));
  }

  const PageSelection& selection_;
  const PageShape& shape_;
  const std::stop_token& stop_;
  int64_t least_ = 1;
  bool grown_ = false;  // There are ways that are longer than the last round's.
  PageWays ways_;
};

}  // namespace

PageTree BuildInvertedTree(const PageStore& store, const PageSelection& selection,
                           const PageShape& shape, const std::stop_token& stop) {
  PageWays ways = InvertedTree(selection, shape, stop).Make();
  PageKeyTexts texts(store.tables());
  return ways.Tree(PageTree::kRoot, shape, [&](int32_t item, uint64_t parent) {
    if (item >= 0) return MixKey(texts.Of(static_cast<uint32_t>(item)), parent);
    const auto group = static_cast<size_t>(PageTree::kFirstGroup - item);
    return StepKey(GroupKey(selection.groups[group]), parent);
  });
}

}  // namespace stackray
