// Trees from the innermost functions on.
#include <algorithm>
#include <list>
#include <string>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_class_encode.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_merge.h"
#include "reporter/page/page_scan.h"
#include "reporter/page/page_tree.h"
#include "reporter/page/page_ways.h"

namespace stackray {
namespace {

// All ways from innermost functions outwards. Few of them are wide enough to be seen, so they grow
// in rounds, and only where what they have so far is: each round goes through all samples. This is
// for questions that tell thousands of threads apart.
class WaysInRounds {
 public:
  WaysInRounds(const PageSelection& selection, const PageShape& shape, const std::stop_token& stop)
      : selection_(selection), shape_(shape), stop_(stop) {
    int64_t total = 0;
    for (const SelectedTree& tree : selection.trees)
      total = SaturatingAdd(total, SaturatingMultiply(tree.tree.total, tree.factor));
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
          tree.tree, stop_,
          [&](const TreePlace&, uint32_t frame, int64_t self) {
            way.Enter(tree.FunctionAt(frame));
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

// The ways of a tree, as those of a class lie in an index.
std::string WaysOf(const SelectedTree& tree, const std::stop_token& stop) {
  std::vector<ViewNode> nodes(1);
  std::vector<std::pair<uint32_t, int64_t>> values;
  std::vector<uint32_t> way{0};
  const int64_t of_top = WalkTree(
      tree.tree, stop,
      [&](const TreePlace&, uint32_t frame, int64_t self) {
        const auto node = static_cast<uint32_t>(nodes.size());
        nodes.push_back(
            {way.back(), tree.of_class != nullptr ? frame : tree.index->OwnFunctionOf(frame)});
        way.push_back(node);
        if (self > 0) values.emplace_back(node, self);
        return true;
      },
      [&](uint32_t) { way.pop_back(); });
  return PackWays(nodes, std::move(values), of_top);
}

// Of trees whose ways have to be made.
constexpr size_t kMostBytesToMake = size_t{4} << 20;

// `bare`: those of classes without native functions, else those of threads.
bool AreFewBytes(const PageSelection& selection, bool bare) {
  size_t bytes = 0;
  for (const SelectedTree& tree : selection.trees)
    if (bare ? tree.bare : tree.of_class == nullptr)
      bytes += static_cast<size_t>(tree.tree.end - tree.tree.at);
  return bytes <= kMostBytesToMake;
}

class WaysDrawer final : public PageDrawer {
 public:
  WaysDrawer(const PageSelection& selection, const PageShape& shape, const std::stop_token& stop)
      : shape_(shape), stop_(stop) {
    top_.item = PageTree::kRoot;
    for (uint32_t group = 0; group < selection.groups.size(); ++group)
      ends_.push_back(GroupItem(selection, group));
    const bool makes_bare = AreFewBytes(selection, true);
    for (const SelectedTree& tree : selection.trees) {
      if (stop.stop_requested()) break;
      if (tree.of_class != nullptr && !(tree.bare && makes_bare)) {
        top_.cursors.push_back({&tree, tree.of_class->ways});
        continue;
      }
      made_.push_back({WaysOf(tree, stop), {}, tree});
      Made& made = made_.back();
      made.tree.of_class = &made.as_class;  // Its numbers are functions, as a class has them.
      top_.cursors.push_back(
          {&made.tree,
           {made.bytes.data(), made.bytes.data() + made.bytes.size(), tree.tree.total}});
    }
    total_ = PageMerge(shape, {}, stop, ends_).ShownTotal(top_);
  }

  PageTree Draw(const std::vector<int32_t>& way, int64_t least, size_t most_nodes) override {
    PageTree tree;
    tree.Add(PageTree::kRoot, -1, total_);
    PageMerge(shape_, way, stop_, ends_, most_nodes).DrawBelow(top_, 0, least, &tree);
    return tree;
  }
  int64_t least() const override { return shape_.Least(total_); }

 private:
  struct Made {
    std::string bytes;
    PageClass as_class;
    SelectedTree tree;
  };

  const PageShape& shape_;
  const std::stop_token& stop_;
  std::vector<int32_t> ends_;
  std::list<Made> made_;
  PageMerge::Group top_;
  int64_t total_ = 0;
};

// Of too many trees to make their ways.
class RoundsDrawer final : public PageDrawer {
 public:
  RoundsDrawer(const PageStore& store, const PageSelection& selection, const PageShape& shape,
               const std::stop_token& stop)
      : store_(store), selection_(selection), shape_(shape), stop_(stop) {}

  // What is zoomed to is drawn in full with all else.
  PageTree Draw(const std::vector<int32_t>&, int64_t, size_t) override {
    PageWays ways = WaysInRounds(selection_, shape_, stop_).Make();
    PageKeyTexts texts(store_.tables());
    return ways.Tree(PageTree::kRoot, shape_, [&](int32_t item, uint64_t parent) {
      if (item >= 0) return MixKey(texts.Of(static_cast<uint32_t>(item)), parent);
      const auto group = static_cast<size_t>(PageTree::kFirstGroup - item);
      return StepKey(GroupKey(selection_.groups[group]), parent);
    });
  }
  int64_t least() const override { return 1; }
  bool draws_zoom() const override { return true; }

 private:
  const PageStore& store_;
  const PageSelection& selection_;
  const PageShape& shape_;
  const std::stop_token& stop_;
};

}  // namespace

std::unique_ptr<PageDrawer> PageDrawer::OfInvertedTree(const PageStore& store,
                                                       const PageSelection& selection,
                                                       const PageShape& shape,
                                                       const std::stop_token& stop) {
  if (AreFewBytes(selection, false)) return std::make_unique<WaysDrawer>(selection, shape, stop);
  return std::make_unique<RoundsDrawer>(store, selection, shape, stop);
}

}  // namespace stackray
