// The call tree of one thread, packed: parents before their children, totals beside each child that
// has siblings, so that a reader sees what a subtree comes to without reading it.
//
//   node     := number(frame * 4 + kind), then by kind:
//     kLeaf     rows
//     kChain    node                                     one child, and no rows of its own
//     kBranch   number(children) child…
//     kMixed    rows number(children) child…
//   child    := number(total) number(bytes of the node) node
//   rows     := number(bytes) (number(seconds since the row before) number(count))…
//
// Seconds begin at the index's first one. The topmost node has frame 0 and stands for the thread.
// A node lies within its parent's bytes, so no byte is read twice on one way down.
#ifndef STACKRAY_REPORTER_PAGE_INDEX_TREE_H_
#define STACKRAY_REPORTER_PAGE_INDEX_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/page/index_bytes.h"

namespace stackray {

enum class NodeKind : uint8_t { kLeaf, kChain, kBranch, kMixed };

// Deeper frames are left out: their samples are their caller's.
inline constexpr size_t kDeepestIndexNode = 8192;

struct TreeEntry {
  uint32_t parent = 0;  // Number of an earlier entry; of the first one it means nothing.
  uint32_t frame = 0;
};
struct TreeRow {
  uint32_t entry = 0;
  uint32_t second = 0;
  int64_t count = 0;
};

// `entries`: depth first, the topmost first; each has rows or children, unless it is the first.
// `rows`: by entry, then second; counts above 0.
std::string PackTree(const std::vector<TreeEntry>& entries, const std::vector<TreeRow>& rows);
// As PackTree(), with values alone: no row says when. `places`: where each entry's node begins.
std::string PackTreeOfValues(const std::vector<TreeEntry>& entries,
                             const std::vector<int64_t>& values, std::vector<size_t>* places);

// Where a node lies, and what all below it comes to.
struct TreePlace {
  const char* at = nullptr;
  const char* end = nullptr;
  int64_t total = 0;
};

// The parts of one node. Input: any bytes; what is damaged has no rows and no children.
struct TreeNode {
  uint32_t frame = 0;
  std::string_view rows;

  // `f(place)` for each child, in the order of the bytes.
  template <typename F>
  void EachChild(F&& f) const;

  static TreeNode At(const TreePlace& place);
  static uint32_t FrameAt(const TreePlace& place) {
    return static_cast<uint32_t>(IndexReader(place.at, place.end).Number() >> 2);
  }

 private:
  const char* at_ = nullptr;  // Of the only child, or of the first one's total.
  const char* end_ = nullptr;
  size_t children_ = 0;
  bool chain_ = false;
  int64_t total_ = 0;
};

// f(second, count) for each row.
template <typename F>
void EachRow(std::string_view rows, F&& f) {
  IndexReader reader(rows);
  uint64_t second = 0;
  while (!reader.done()) {
    second += reader.Number();
    const int64_t count = reader.Count();
    if (reader.bad()) return;
    f(static_cast<uint32_t>(second), count);
  }
}

inline TreeNode TreeNode::At(const TreePlace& place) {
  TreeNode node;
  IndexReader reader(place.at, place.end);
  const uint64_t head = reader.Number();
  const auto kind = static_cast<NodeKind>(head & 3);
  node.frame = static_cast<uint32_t>(head >> 2);
  if (kind == NodeKind::kLeaf || kind == NodeKind::kMixed) node.rows = reader.Bytes();
  node.chain_ = kind == NodeKind::kChain && !reader.done();
  if (kind == NodeKind::kBranch || kind == NodeKind::kMixed) node.children_ = reader.Length(3);
  node.at_ = reader.at();
  node.end_ = place.end;
  node.total_ = place.total;
  if (reader.bad()) return {};
  return node;
}

template <typename F>
void TreeNode::EachChild(F&& f) const {
  if (chain_) return f(TreePlace{at_, end_, total_});
  IndexReader reader(at_, end_);
  for (size_t i = 0; i < children_; ++i) {
    const int64_t total = reader.Count();
    const std::string_view bytes = reader.Bytes();
    if (bytes.empty()) return;
    f(TreePlace{bytes.data(), bytes.data() + bytes.size(), total});
  }
}

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_INDEX_TREE_H_
