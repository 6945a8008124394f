// Several packed trees of functions (page_class.h) as one, without a node of them in memory: they
// are walked side by side, and each node is written as soon as all below it is.
//
// Input:   any bytes; what is damaged has no children.
// Memory:  the result, 16 bytes a node on the present way and beside it, and 8 bytes a place.
// Threads: one owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_TREE_MERGE_H_
#define STACKRAY_REPORTER_PAGE_TREE_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/page/index_tree.h"

namespace stackray {

struct TreeToMerge {
  TreePlace tree;
  const std::vector<uint32_t>* functions = nullptr;  // The result's number of each of its own.
};

class TreeMerge {
 public:
  explicit TreeMerge(size_t function_count)
      : slots_(function_count, kNoSlot), open_(function_count) {}

  // `places`: by function, where its outermost nodes lie, in rising order; may be null.
  std::string Merge(const std::vector<TreeToMerge>& trees,
                    std::vector<std::vector<size_t>>* places);

 private:
  struct Cursor {
    TreePlace place;
    const std::vector<uint32_t>* functions = nullptr;
  };
  struct Node {
    uint32_t function = 0;
    int64_t total = 0;
    std::vector<Cursor> cursors;
  };
  struct Level {  // A node whose children are being written, the last one first.
    uint32_t function = 0;
    int64_t total = 0, self = 0;
    size_t begin = 0;  // Of its bytes, in out_.
    size_t children = 0;
    std::vector<Node> left;
  };
  struct Place {
    uint32_t function = 0, end = 0;  // Behind the node, in out_, which is written backwards.
  };
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  Level Open(const Node& node);
  void Close(const Level& level);

  std::vector<uint32_t> slots_;  // By function; all kNoSlot between calls.
  std::vector<uint32_t> open_;   // How often each function is on the present way.
  std::vector<Place> found_;
  std::string out_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_TREE_MERGE_H_
