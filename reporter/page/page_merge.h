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

struct PageCursor {                    // A node of one of the trees.
  const SelectedTree* tree = nullptr;  // Outlives the cursor.
  TreePlace place;
};

class PageMerge {
 public:
  struct Group {  // Nodes that are drawn as one.
    int32_t item = 0;
    std::vector<PageCursor> cursors;
    int64_t total = 0;
  };

  // `way`: items from a top on. Where there is one, nothing is drawn but it, however narrow, and
  // what is below its end, as if that had all the width.
  // `most_nodes`: beyond it the drawing ends. `end_groups`, where ways are drawn: by group of the
  // selection, the item that what ends at a node goes on to; kRoot: none.
  PageMerge(const PageShape& shape, std::vector<int32_t> way, const std::stop_token& stop,
            std::vector<int32_t> end_groups = {}, size_t most_nodes = SIZE_MAX)
      : shape_(shape),
        way_(std::move(way)),
        stop_(stop),
        end_groups_(std::move(end_groups)),
        most_nodes_(most_nodes),
        slots_(shape.hidden.size() + end_groups_.size(), kNoSlot),
        hides_(std::ranges::find(shape.hidden, true) != shape.hidden.end()) {}

  // All below `tops`, which become children of `out`'s node `parent`. `is_function`: their items
  // are functions, whose hidden callees' values are their own.
  void Draw(std::vector<Group> tops, int32_t parent, int64_t least, PageTree* out);
  // As Draw(), with `top` as that node.
  void DrawBelow(const Group& top, int32_t node, int64_t least, PageTree* out);
  // Of a top that is no function: its total without stacks of hidden frames only.
  int64_t ShownTotal(const Group& top);

 private:
  struct Entry {
    int32_t item = 0;
    int64_t value = 0;
    PageCursor cursor;  // Without a tree: what ends in a group.
  };
  struct Level {
    std::vector<Group> groups;
    size_t next = 0;
    int32_t parent = 0;
    int64_t least = 1;
    size_t way = 0;  // How much of the way leads here; kOff: none does.
  };
  static constexpr size_t kOff = SIZE_MAX;

  // What stands directly below, into entries_; returns the values of the nodes themselves.
  int64_t Expand(const Group& group);
  // Of entries_.
  std::vector<Group> Groups(int64_t least, int32_t wanted);
  uint32_t& SlotOf(int32_t item) {
    return slots_[item >= 0
                      ? static_cast<size_t>(item)
                      : shape_.hidden.size() + static_cast<size_t>(PageTree::kFirstGroup - item)];
  }
  size_t Follow(size_t way, int32_t item) const {
    return way < way_.size() && way_[way] == item ? way + 1 : kOff;
  }

  const PageShape& shape_;
  const std::vector<int32_t> way_;
  const std::stop_token& stop_;
  const std::vector<int32_t> end_groups_;
  const size_t most_nodes_;
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  std::vector<uint32_t> slots_;  // By item; all kNoSlot between calls.
  std::vector<Entry> entries_;
  std::vector<PageCursor> open_;
  const bool hides_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_MERGE_H_
