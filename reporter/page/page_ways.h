// Ways through stacks from their inner end outwards, added up: a tree of innermost functions and a
// function's callers are made of them.
// Threads: one owns each.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_WAYS_H_
#define STACKRAY_REPORTER_PAGE_PAGE_WAYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_tree.h"

namespace stackray {

// The texts of functions' keys, made once each.
class PageKeyTexts {
 public:
  explicit PageKeyTexts(const PageTables& tables)
      : tables_(tables), texts_(tables.functions.items().size()) {}
  const std::string& Of(uint32_t function) {
    std::string& text = texts_[function];
    if (text.empty()) text = KeyText(FunctionKey(tables_, tables_.functions.items()[function]));
    return text;
  }

 private:
  const PageTables& tables_;
  std::vector<std::string> texts_;
};

// Ways with what each has; then the tree of them. Beyond kMostWays the rarest end earlier.
class PageWays {
 public:
  // The key of an item's step, from its parent's key.
  using KeyOf = absl::FunctionRef<uint64_t(int32_t item, uint64_t parent)>;

  PageWays() { values_.resize(1); }

  // 0 is where all ways begin. A number holds until the next Add().
  uint32_t Step(uint32_t from, int32_t item) {
    return nodes_.Intern({from, static_cast<uint32_t>(item)}, true);
  }
  // kNoId: no way goes there.
  uint32_t Find(uint32_t from, int32_t item) {
    return nodes_.Intern({from, static_cast<uint32_t>(item)}, false);
  }
  // From the function at the end of `way` outwards, then the group, where there is one.
  uint32_t Outwards(const std::vector<uint32_t>& way, size_t end, int32_t group);
  void Add(uint32_t node, int64_t value);
  // By number, with all that goes on from there.
  std::vector<int64_t> Totals() const;

  // `key_of` is asked only where the shape has a zoom.
  PageTree Tree(int32_t root_item, const PageShape& shape, KeyOf key_of);

 private:
  // Which nodes are drawn, by what each needs to be seen.
  class Drawn;
  void Shorten();

  InternTable<ViewNode> nodes_;  // ViewNode::frame is an item.
  std::vector<int64_t> values_;
};

// The functions on the way to the present node of a walk, hidden and repeated ones left out.
class ShownWay {
 public:
  explicit ShownWay(const PageShape& shape) : shape_(shape) {}
  // False: the frame is none of its own.
  bool Enter(uint32_t function) {
    const bool skip =
        shape_.hidden[function] || (shape_.fold && !way_.empty() && way_.back() == function);
    skipped_.push_back(skip);
    if (!skip) way_.push_back(function);
    return !skip;
  }
  void Leave() {
    if (!skipped_.back()) way_.pop_back();
    skipped_.pop_back();
  }
  const std::vector<uint32_t>& way() const { return way_; }

 private:
  const PageShape& shape_;
  std::vector<uint32_t> way_;
  std::vector<bool> skipped_;
};

// What stands for a group in a tree; PageTree::kRoot: it has no name and no place of its own.
int32_t GroupItem(const PageSelection& selection, uint32_t group);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_WAYS_H_
