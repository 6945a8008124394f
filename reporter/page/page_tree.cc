#include "reporter/page/page_tree.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_merge.h"

namespace stackray {
namespace {

// All trees of a selection, ready to be drawn.
class TreeDrawer final : public PageDrawer {
 public:
  TreeDrawer(const PageSelection& selection, const PageShape& shape, const std::stop_token& stop)
      : selection_(selection), shape_(shape), stop_(stop), groups_(selection.groups.size()) {
    for (size_t i = 0; i < groups_.size(); ++i)
      groups_[i].item = PageTree::kFirstGroup - static_cast<int32_t>(i);
    for (const SelectedTree& tree : selection.trees)
      groups_[tree.group].cursors.push_back({&tree, tree.tree});
    PageMerge merge(shape, {}, stop);
    for (PageMerge::Group& group : groups_)
      total_ = SaturatingAdd(total_, group.total = merge.ShownTotal(group));
  }

  PageTree Draw(const std::vector<int32_t>& way, int64_t least, size_t most_nodes) override {
    PageTree tree;
    tree.Add(PageTree::kRoot, -1, total_);
    PageMerge merge(shape_, way, stop_, {}, most_nodes);
    if (groups_.size() == 1 && selection_.groups[0].empty()) {
      merge.DrawBelow(groups_[0], 0, least, &tree);
      return tree;
    }
    std::vector<PageMerge::Group> groups = groups_;
    std::erase_if(groups, [&](const PageMerge::Group& group) {
      return way.empty() ? group.total == 0 || group.total < least : group.item != way[0];
    });
    std::ranges::stable_sort(groups, std::greater(), &PageMerge::Group::total);
    merge.Draw(std::move(groups), 0, least, &tree);
    return tree;
  }
  int64_t least() const override { return shape_.Least(total_); }

 private:
  const PageSelection& selection_;
  const PageShape& shape_;
  const std::stop_token& stop_;
  std::vector<PageMerge::Group> groups_;
  int64_t total_ = 0;
};

}  // namespace

std::unique_ptr<PageDrawer> PageDrawer::OfTree(const PageSelection& selection,
                                               const PageShape& shape,
                                               const std::stop_token& stop) {
  return std::make_unique<TreeDrawer>(selection, shape, stop);
}

}  // namespace stackray
