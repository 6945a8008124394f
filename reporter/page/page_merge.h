// Many packed trees walked side by side as one, and only where something is wide enough to be seen.
// Threads: one owns it.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_MERGE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_MERGE_H_

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "reporter/page/page_tree.h"

namespace stackray {

struct PageCursor {  // A node of one of the trees.
  const PageIndex* index = nullptr;
  TreePlace place;
  int64_t factor = 1;
};

class PageMerge {
 public:
  struct Group {  // Nodes that are drawn as one.
    int32_t item = 0;
    std::vector<PageCursor> cursors;
    int64_t total = 0;
  };

  // `way`: functions from a top on that are followed however narrow they are; what is below the
  // last one is drawn as if it had all the width.
  PageMerge(const PageShape& shape, std::vector<int32_t> way, const std::stop_token& stop)
      : shape_(shape),
        way_(std::move(way)),
        stop_(stop),
        hides_(std::ranges::find(shape.hidden, true) != shape.hidden.end()) {}

  // All below `tops`, which become children of `out`'s node `parent`. `is_function`: their items
  // are functions, whose hidden callees' values are their own.
  void Draw(std::vector<Group> tops, int32_t parent, int64_t least, PageTree* out);
  // As Draw(), with `top` as that node.
  void DrawBelow(const Group& top, int32_t node, int64_t least, PageTree* out);
  // Of a top that is no function: its total without stacks of hidden frames only.
  int64_t ShownTotal(const Group& top) const;

 private:
  struct Entry {
    uint32_t function = 0;
    PageCursor cursor;
  };
  struct Level {
    std::vector<Group> groups;
    size_t next = 0;
    int32_t parent = 0;
    int64_t least = 1;
    size_t way = 0;  // How much of the way leads here; kOff: none does.
  };
  static constexpr size_t kOff = SIZE_MAX;

  // What stands directly below; returns the values of the nodes themselves.
  int64_t Expand(const Group& group, std::vector<Entry>* entries) const;
  std::vector<Group> Groups(std::vector<Entry> entries, int64_t least, int32_t wanted) const;
  size_t Follow(size_t way, int32_t item) const {
    return way < way_.size() && way_[way] == item ? way + 1 : kOff;
  }

  const PageShape& shape_;
  const std::vector<int32_t> way_;
  const std::stop_token& stop_;
  const bool hides_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_MERGE_H_
