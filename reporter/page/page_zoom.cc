// A tree with one of its nodes drawn as if it alone had the width.
#include <algorithm>
#include <utility>

#include "reporter/page/page_keys.h"
#include "reporter/page/page_tree.h"
#include "reporter/page/page_ways.h"

namespace stackray {
namespace {

// A zoomed node that cannot be seen is looked for in trees with nodes so many times narrower, one
// after the other, each as far as so many nodes: what is read where the node is not there.
constexpr int64_t kZoomSteps[] = {16, 4096};
constexpr size_t kMostZoomNodes = 1 << 15;

// Items from below the root to the node that a key means; empty: the tree has none.
std::vector<int32_t> FindWay(const PageStore& store, const PageSelection& selection,
                             const PageTree& tree, uint64_t zoom) {
  PageKeyTexts texts(store.tables());
  std::vector<uint64_t> keys(tree.item.size());
  for (size_t i = 1; i < keys.size(); ++i) {
    const int32_t item = tree.item[i];
    const uint64_t above = keys[static_cast<size_t>(tree.parent[i])];
    keys[i] =
        item >= 0
            ? MixKey(texts.Of(static_cast<uint32_t>(item)), above)
            : StepKey(GroupKey(selection.groups[static_cast<size_t>(PageTree::kFirstGroup - item)]),
                      above);
    if (keys[i] != zoom) continue;
    std::vector<int32_t> way;
    for (auto at = static_cast<int32_t>(i); at > 0; at = tree.parent[static_cast<size_t>(at)])
      way.push_back(tree.item[static_cast<size_t>(at)]);
    return {way.rbegin(), way.rend()};
  }
  return {};
}

// Copies parts of trees, each node behind its parent.
class Splicer {
 public:
  Splicer(const PageTree& whole, const PageTree& part, size_t steps)
      : whole_(whole), part_(part), steps_(steps) {}

  // The nodes of `part` are a way of so many steps, one behind the other, and what is below it.
  PageTree Splice() {
    FindWayInWhole();
    const size_t end = EndOf(way_.back());
    const bool has_it = way_.size() == steps_ + 1;
    numbers_.assign(whole_.item.size(), -1);
    for (size_t i = 0; i < whole_.item.size(); ++i) {
      if (has_it && i > way_.back() && i < end) continue;  // The part has more of it.
      Copy(whole_, i, i == 0 ? -1 : numbers_[static_cast<size_t>(whole_.parent[i])], &numbers_);
      if (i + 1 == end || (has_it && i == way_.back())) AddPart();
    }
    return std::move(out_);
  }

 private:
  void FindWayInWhole() {
    way_ = {0};
    while (way_.size() <= steps_ && way_.size() < part_.item.size()) {
      size_t found = 0;
      for (size_t i = way_.back() + 1; i < EndOf(way_.back()) && found == 0; ++i)
        if (whole_.parent[i] == static_cast<int32_t>(way_.back()) &&
            whole_.item[i] == part_.item[way_.size()])
          found = i;
      if (found == 0) return;
      way_.push_back(found);
    }
  }
  // Behind all that is below a node.
  size_t EndOf(size_t node) const {
    size_t end = node + 1;
    while (end < whole_.item.size() && whole_.parent[end] >= static_cast<int32_t>(node)) ++end;
    return end;
  }
  void Copy(const PageTree& from, size_t node, int32_t parent, std::vector<int32_t>* numbers) {
    (*numbers)[node] = out_.Add(from.item[node], parent, from.total[node]);
    out_.self.back() = from.self[node];
  }
  void AddPart() {
    if (added_) return;
    added_ = true;
    std::vector<int32_t> numbers(part_.item.size(), -1);
    for (size_t i = 0; i < way_.size(); ++i) numbers[i] = numbers_[way_[i]];
    for (size_t i = way_.size(); i < part_.item.size(); ++i)
      Copy(part_, i, numbers[static_cast<size_t>(part_.parent[i])], &numbers);
  }

  const PageTree& whole_;
  const PageTree& part_;
  const size_t steps_;
  std::vector<size_t> way_;       // Nodes of `whole`, from the root on, that `part` begins with.
  std::vector<int32_t> numbers_;  // By node of `whole`.
  bool added_ = false;
  PageTree out_;
};

}  // namespace

// What is zoomed to was seen before, so it is looked for where it can be seen first.
PageTree DrawZoomed(const PageStore& store, const PageSelection& selection, uint64_t zoom,
                    const PageTree& whole, PageDrawer& drawer) {
  std::vector<int32_t> way = FindWay(store, selection, whole, zoom);
  for (const int64_t step : kZoomSteps) {
    if (!way.empty() || drawer.least() == 1) break;
    const int64_t least = std::max<int64_t>(drawer.least() / step, 1);
    way = FindWay(store, selection, drawer.Draw({}, least, kMostZoomNodes), zoom);
  }
  if (way.empty()) return whole;
  const PageTree part = drawer.Draw(way, drawer.least(), SIZE_MAX);
  return part.item.size() > way.size() ? Splicer(whole, part, way.size()).Splice() : whole;
}

}  // namespace stackray
