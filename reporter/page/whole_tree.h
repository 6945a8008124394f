// The nodes of a call tree in the order of a walk, and parts of it as PackTree() takes them.
// Threads: one owns each. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_WHOLE_TREE_H_
#define STACKRAY_REPORTER_PAGE_WHOLE_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "reporter/formats/sample_sums.h"
#include "reporter/page/index_tree.h"

namespace stackray {

class WholeTree {
 public:
  explicit WholeTree(const std::vector<ViewNode>& nodes);
  uint32_t order(uint32_t node) const { return order_[node]; }
  // Depth first, the root first.
  const std::vector<uint32_t>& by_order() const { return by_order_; }
  const ViewNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  const std::vector<ViewNode>& nodes_;
  std::vector<uint32_t> order_, by_order_;
};

// Picks the nodes that some rows need.
class TreePart {
 public:
  explicit TreePart(const WholeTree& tree) : tree_(tree), entry_(tree.size(), kNoId) {}

  // Makes entries() and nodes() of all of `used` (nodes, in any order, also repeated).
  template <typename Nodes>
  void Pick(const Nodes& used) {
    Clear();
    nodes_.assign(1, 0);
    entry_[0] = 0;
    for (uint32_t node : used)
      for (; entry_[node] == kNoId; node = tree_[node].parent) {
        entry_[node] = 0;
        nodes_.push_back(node);
      }
    Number();
  }
  uint32_t EntryOf(uint32_t node) const { return entry_[node]; }
  const std::vector<TreeEntry>& entries() const { return entries_; }
  const std::vector<uint32_t>& nodes() const { return nodes_; }  // By entry.

 private:
  void Clear();
  void Number();

  const WholeTree& tree_;
  std::vector<uint32_t> entry_;  // Of nodes; kNoId: not picked.
  std::vector<uint32_t> nodes_;
  std::vector<TreeEntry> entries_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_WHOLE_TREE_H_
