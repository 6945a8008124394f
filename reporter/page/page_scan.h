// Goes through every node of the trees of a selection, once: what tables, searches and callers are
// added up from.
//
// Memory:  some bytes for each function, and the open way of one tree.
// Threads: one. Errors: none; `stop` ends it early, and the sums are then of a part.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_SCAN_H_
#define STACKRAY_REPORTER_PAGE_PAGE_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_store.h"

namespace stackray {

// Which nodes of a tree lie on the way to some places of it. Asked in the order of a walk.
class PlacesBelow {
 public:
  PlacesBelow(const char* begin, std::vector<uint64_t> places)
      : begin_(begin), places_(std::move(places)) {
    std::ranges::sort(places_);
  }
  bool operator()(const TreePlace& place) {
    const auto at = static_cast<uint64_t>(place.at - begin_);
    while (next_ < places_.size() && places_[next_] < at) ++next_;
    return next_ < places_.size() && places_[next_] < static_cast<uint64_t>(place.end - begin_);
  }

 private:
  const char* const begin_;
  std::vector<uint64_t> places_;
  size_t next_ = 0;
};

struct AllPlaces {
  bool operator()(const TreePlace&) const { return true; }
};

// enter(place, frame number, own value) and leave(frame number) of each node of one tree, parents
// first, without its top. `enter` says whether what is below is wanted. What the top has itself is
// returned: samples without a frame. Nodes that are not `wanted` are left out with all below them.
template <typename Enter, typename Leave, typename Wanted = AllPlaces>
int64_t WalkTree(const TreePlace& top, const std::stop_token& stop, Enter&& enter, Leave&& leave,
                 Wanted&& wanted = {}) {
  struct Open {
    uint32_t frame;
    size_t pending;
  };
  std::vector<TreePlace> pending;  // Children that were not looked at, the next one last.
  std::vector<Open> way;
  const auto expand = [&](const TreePlace& place, uint32_t* frame) {
    const TreeNode node = TreeNode::At(place);
    const size_t begin = pending.size();
    int64_t below = 0;
    node.EachChild([&](const TreePlace& child) {
      pending.push_back(child);
      below = SaturatingAdd(below, child.total);
    });
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(begin), pending.end());
    *frame = node.frame;
    return std::max<int64_t>(place.total - below, 0);
  };
  uint32_t frame = 0;
  const int64_t of_top = expand(top, &frame);
  size_t steps = 0;
  while (!way.empty() || !pending.empty()) {
    if (!way.empty() && pending.size() == way.back().pending) {
      leave(way.back().frame);
      way.pop_back();
      continue;
    }
    if ((++steps & 0xfff) == 0 && stop.stop_requested()) break;
    const TreePlace place = pending.back();
    pending.pop_back();
    if (!wanted(place)) continue;
    const size_t before = pending.size();
    const int64_t self = expand(place, &frame);
    if (!enter(place, frame, self)) pending.resize(before);
    way.push_back({frame, before});
  }
  return of_top;
}

// Which functions are of a hidden type.
std::vector<bool> HiddenFunctions(const PageTables& tables, const PageQuestion::Texts& hidden);

struct PageFunctionSums {
  struct Sums {
    int64_t self = 0, total = 0;  // Each sample once, however often the function recurs in it.
  };
  std::vector<Sums> functions;      // By number.
  std::vector<int64_t> type_selfs;  // By function: its own values with nothing hidden.
  int64_t marked = 0;               // Values of stacks with a marker, with nothing hidden.
  int64_t hidden_whole = 0;         // Values of stacks that have hidden frames only.
};

PageFunctionSums SumFunctions(const PageStore& store, const PageSelection& selection,
                              const std::vector<bool>& hidden, const std::stop_token& stop);

// The values of stacks with a matching frame that is not hidden. By function.
int64_t SumMatched(const PageSelection& selection, const std::vector<bool>& matching,
                   const std::stop_token& stop);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_SCAN_H_
