#include "reporter/page/whole_tree.h"

#include <algorithm>

namespace stackray {

WholeTree::WholeTree(const std::vector<ViewNode>& nodes) : nodes_(nodes), order_(nodes.size()) {
  std::vector<uint32_t> first(nodes.size()), next(nodes.size());
  for (auto i = static_cast<uint32_t>(nodes.size()); i-- > 1;) {
    next[i] = first[nodes[i].parent];
    first[nodes[i].parent] = i;
  }
  by_order_.reserve(nodes.size());
  std::vector<uint32_t> open{0};  // Nodes whose subtree is next.
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    order_[node] = static_cast<uint32_t>(by_order_.size());
    by_order_.push_back(node);
    if (next[node] != 0) open.push_back(next[node]);
    if (first[node] != 0) open.push_back(first[node]);
  }
}

void TreePart::Clear() {
  for (const uint32_t node : nodes_) entry_[node] = kNoId;
}

void TreePart::Number() {
  std::ranges::sort(nodes_, {}, [&](uint32_t node) { return tree_.order(node); });
  entries_.clear();
  entries_.reserve(nodes_.size());
  for (const uint32_t node : nodes_) {
    entry_[node] = static_cast<uint32_t>(entries_.size());
    entries_.push_back({.parent = node == 0 ? 0 : entry_[tree_[node].parent],
                        .frame = node == 0 ? 0 : tree_[node].frame});
  }
}

}  // namespace stackray
