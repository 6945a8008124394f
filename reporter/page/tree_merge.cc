#include "reporter/page/tree_merge.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/view_buckets.h"

namespace stackray {

TreeMerge::Level TreeMerge::Open(const Node& node) {
  Level level{.function = node.function, .total = node.total, .begin = out_.size()};
  int64_t below = 0;
  for (const Cursor& cursor : node.cursors)
    TreeNode::At(cursor.place).EachChild([&](const TreePlace& child) {
      const uint32_t own = TreeNode::FrameAt(child);
      const uint32_t function = own < cursor.functions->size() ? (*cursor.functions)[own] : 0;
      uint32_t& slot = slots_[function];
      if (slot == kNoSlot) {
        slot = static_cast<uint32_t>(level.left.size());
        level.left.push_back({.function = function});
      }
      Node& to = level.left[slot];
      to.total = SaturatingAdd(to.total, child.total);
      to.cursors.push_back({child, cursor.functions});
      below = SaturatingAdd(below, child.total);
    });
  for (const Node& child : level.left) slots_[child.function] = kNoSlot;
  level.self = std::max<int64_t>(node.total - below, 0);
  level.children = level.left.size();
  return level;
}

// index_tree.h has the layout, here from its end to its beginning.
void TreeMerge::Close(const Level& level) {
  const NodeKind kind = level.children == 0   ? NodeKind::kLeaf
                        : level.self > 0      ? NodeKind::kMixed
                        : level.children == 1 ? NodeKind::kChain
                                              : NodeKind::kBranch;
  if (kind == NodeKind::kBranch || kind == NodeKind::kMixed)
    AppendNumberBackwards(level.children, &out_);
  if (kind == NodeKind::kLeaf || kind == NodeKind::kMixed) AppendNumberBackwards(0, &out_);
  AppendNumberBackwards(uint64_t{level.function} << 2 | static_cast<uint8_t>(kind), &out_);
}

std::string TreeMerge::Merge(const std::vector<TreeToMerge>& trees,
                             std::vector<std::vector<size_t>>* places) {
  Node top;
  for (const TreeToMerge& tree : trees) {
    top.total = SaturatingAdd(top.total, tree.tree.total);
    top.cursors.push_back({tree.tree, tree.functions});
  }
  std::vector<Level> way;
  way.push_back(Open(top));
  while (true) {
    Level& level = way.back();
    if (!level.left.empty()) {
      const Node child = std::move(level.left.back());
      level.left.pop_back();
      ++open_[child.function];
      way.push_back(Open(child));
      continue;
    }
    Close(level);
    if (way.size() == 1) break;
    if (--open_[level.function] == 0 && places != nullptr)
      found_.push_back({level.function, static_cast<uint32_t>(out_.size())});
    const Level& parent = way[way.size() - 2];
    if (parent.children > 1 || parent.self > 0) {
      AppendNumberBackwards(out_.size() - level.begin, &out_);
      AppendNumberBackwards(static_cast<uint64_t>(level.total), &out_);
    }
    way.pop_back();
  }
  std::reverse(out_.begin(), out_.end());
  for (auto place = found_.rbegin(); place != found_.rend(); ++place)
    (*places)[place->function].push_back(out_.size() - place->end);
  found_.clear();
  return std::exchange(out_, {});
}

}  // namespace stackray
