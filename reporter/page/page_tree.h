// Call trees as the page draws them: of all trees of a selection together, as far as they can be
// seen at a width. What is narrower stays in its parent's total, so each number is exact.
//
// Memory:  a place for each tree of the selection, and what is drawn. A tree from the innermost
//          function on, and callers, keep every different way to them, kMostWays at most; beyond
//          that the rarest end early.
// Threads: one. Errors: none; `stop` ends it early.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_TREE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_TREE_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "reporter/page/page_lines.h"
#include "reporter/page/page_store.h"

namespace stackray {

struct PageTree {
  static constexpr int32_t kRoot = -1, kFirstGroup = -2;  // Group g is kFirstGroup - g.

  // Depth first, siblings heaviest first. `item`: a function where it is ≥ 0.
  std::vector<int32_t> item, parent;
  std::vector<int64_t> self, total;

  int32_t Add(int32_t item_number, int32_t parent_number, int64_t total_value) {
    item.push_back(item_number);
    parent.push_back(parent_number);
    self.push_back(0);
    total.push_back(total_value);
    return static_cast<int32_t>(item.size()) - 1;
  }
};

struct PageShape {
  const std::vector<bool>& hidden;  // By function.
  bool fold = false;
  uint32_t width = 0;  // 0: all of it.
  uint64_t zoom = 0;   // Key of a way, which is drawn as if it alone had the width; 0: the root.

  // Values below it are not seen where `total` has all the width.
  int64_t Least(int64_t total) const {
    return width == 0 ? 1 : std::max<int64_t>(total / (int64_t{2} * width), 1);
  }
};

// Draws trees of one selection, which outlives it.
class PageDrawer {
 public:
  virtual ~PageDrawer() = default;
  // Root first, below it the selection's groups where it has any with a name.
  static std::unique_ptr<PageDrawer> OfTree(const PageSelection& selection, const PageShape& shape,
                                            const std::stop_token& stop);
  // Innermost functions first, their callers below them.
  static std::unique_ptr<PageDrawer> OfInvertedTree(const PageStore& store,
                                                    const PageSelection& selection,
                                                    const PageShape& shape,
                                                    const std::stop_token& stop);

  // Nodes of at least that value. `way`: as PageMerge has it.
  virtual PageTree Draw(const std::vector<int32_t>& way, int64_t least, size_t most_nodes) = 0;
  virtual int64_t least() const = 0;  // What can be seen.
  // Draw() has the shape's zoom in it.
  virtual bool draws_zoom() const { return false; }
};

inline constexpr size_t kMostWays = 1 << 20;

// `whole`, with the node that `zoom` means drawn in full; as it is, where there is none, or one
// that is not among the first 65,536 nodes, depth first, that are not very narrow.
PageTree DrawZoomed(const PageStore& store, const PageSelection& selection, uint64_t zoom,
                    const PageTree& whole, PageDrawer& drawer);

// One function: who calls it and whom it calls, from its outermost call in each stack on, and its
// lines.
struct PageSandwich {
  PageTree callers, callees;    // Their root is the function.
  std::vector<PageLine> lines;  // By source and line.
};
PageSandwich BuildSandwich(const PageStore& store, const PageSelection& selection,
                           const PageShape& shape, uint32_t function, const std::stop_token& stop);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_TREE_H_
