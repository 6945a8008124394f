#include "reporter/page/page_ways.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/view_buckets.h"

namespace stackray {

int32_t GroupItem(const PageSelection& selection, uint32_t group) {
  return selection.groups[group].empty() ? PageTree::kRoot
                                         : PageTree::kFirstGroup - static_cast<int32_t>(group);
}

uint32_t PageWays::Outwards(const std::vector<uint32_t>& way, size_t end, int32_t group) {
  uint32_t node = 0;
  for (size_t i = end; i-- > 0;) node = Step(node, static_cast<int32_t>(way[i]));
  return group == PageTree::kRoot ? node : Step(node, group);
}

void PageWays::Add(uint32_t node, int64_t value) {
  if (values_.size() < nodes_.items().size()) values_.resize(nodes_.items().size());
  values_[node] = SaturatingAdd(values_[node], value);
  if (nodes_.items().size() > kMostWays) Shorten();
}

std::vector<int64_t> PageWays::Totals() const {
  std::vector<int64_t> totals = values_;
  totals.resize(nodes_.items().size());
  for (size_t i = totals.size(); i-- > 1;) {
    int64_t& above = totals[nodes_.items()[i].parent];
    above = SaturatingAdd(above, totals[i]);
  }
  return totals;
}

// Until half as many nodes are left. A way's end takes what its longer parts had.
void PageWays::Shorten() {
  const std::vector<int64_t> totals = Totals();
  std::vector<int64_t> sorted(totals.begin() + 1, totals.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const int64_t least = *middle + 1;
  InternTable<ViewNode> nodes;
  std::vector<int64_t> values(1);
  std::vector<uint32_t> number_of(totals.size());
  for (uint32_t i = 0; i < totals.size(); ++i) {
    const ViewNode& node = nodes_.items()[i];
    if (i != 0) number_of[i] = number_of[node.parent];
    if (i != 0 && totals[i] >= least) number_of[i] = nodes.Intern({number_of[i], node.frame}, true);
    values.resize(nodes.items().size());
    values[number_of[i]] = SaturatingAdd(values[number_of[i]], values_[i]);
  }
  nodes_ = std::move(nodes);
  values_ = std::move(values);
}

class PageWays::Drawn {
 public:
  Drawn(const std::vector<ViewNode>& nodes, const std::vector<int64_t>& totals,
        const PageShape& shape, KeyOf key_of)
      : nodes_(nodes), totals_(totals), shape_(shape), children_(nodes.size()) {
    const uint32_t zoom = shape.zoom == 0 ? 0 : FindZoom(key_of);
    std::vector<bool> in_way(nodes.size()), in_zoom(nodes.size());
    for (uint32_t i = zoom; i != 0; i = nodes[i].parent) in_way[i] = true;
    const int64_t least = shape.Least(totals[0]);
    const int64_t zoom_least = std::min(least, shape.Least(totals[zoom]));
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      in_zoom[i] = (zoom != 0 && i == zoom) || in_zoom[nodes[i].parent];
      if (totals[i] >= (in_zoom[i] ? zoom_least : least) || in_way[i])
        children_[nodes[i].parent].push_back(i);
    }
    for (std::vector<uint32_t>& below : children_)  // Lightest first: they are taken from the end.
      std::ranges::stable_sort(below, {}, [&](uint32_t child) { return totals_[child]; });
  }
  const std::vector<uint32_t>& Below(uint32_t node) const { return children_[node]; }

 private:
  uint32_t FindZoom(KeyOf key_of) const {
    std::vector<uint64_t> keys(nodes_.size());
    uint32_t zoom = 0;
    for (uint32_t i = 1; i < nodes_.size() && zoom == 0; ++i) {
      keys[i] = key_of(static_cast<int32_t>(nodes_[i].frame), keys[nodes_[i].parent]);
      if (keys[i] == shape_.zoom) zoom = i;
    }
    return zoom;
  }

  const std::vector<ViewNode>& nodes_;
  const std::vector<int64_t>& totals_;
  const PageShape& shape_;
  std::vector<std::vector<uint32_t>> children_;
};

PageTree PageWays::Tree(int32_t root_item, const PageShape& shape, KeyOf key_of) {
  values_.resize(nodes_.items().size());
  const std::vector<int64_t> totals = Totals();
  const Drawn drawn(nodes_.items(), totals, shape, key_of);
  struct Open {
    uint32_t node;
    int32_t parent;
  };
  PageTree tree;
  std::vector<Open> open{{0, -1}};
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    const uint32_t frame = nodes_.items()[next.node].frame;
    const int32_t item = next.node == 0 ? root_item : static_cast<int32_t>(frame);
    const int32_t place = tree.Add(item, next.parent, totals[next.node]);
    tree.self.back() = values_[next.node];
    for (const uint32_t child : drawn.Below(next.node)) open.push_back({child, place});
  }
  return tree;
}

}  // namespace stackray
