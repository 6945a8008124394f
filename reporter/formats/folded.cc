#include "reporter/formats/folded.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

std::string FrameLabel(const CallTree& tree, const CallFrame& frame) {
  std::string label = FoldedElement(tree.Text(frame.name));
  if (tree.Text(frame.type) == "kernel") return label + "_[k]";
  return frame.inlined != 0 ? label + "_[i]" : label;
}

// A tree of labels whose first level is the processes.
class FoldedTree {
 public:
  FoldedTree(const ProfileView& view, uint32_t type) {
    const CallTree tree(view, type, true);
    std::vector<uint32_t> label_of;
    for (const CallFrame& frame : tree.frames()) {
      label_of.push_back(labels_.Intern(FrameLabel(tree, frame), true));
    }
    std::vector<uint32_t> process_labels;
    for (uint32_t process = 0; process < view.processes().size(); ++process) {
      process_labels.push_back(labels_.Intern(FoldedElement(view.ProcessName(process)), true));
    }
    for (const ViewRow& row : tree.rows()) {
      const uint32_t process = process_labels[view.threads()[row.thread].process];
      uint32_t leaf = Insert(tree, label_of, process, row.node);
      if (const uint32_t wait = view.threads()[row.thread].wait; wait != 0)
        leaf = nodes_.Intern(
            {leaf,
             labels_.Intern(FoldedElement(Concat("[", WaitText(view.Text(wait)), "]")), true)},
            true);
      counts_.resize(nodes_.items().size());
      counts_[leaf] = SaturatingAdd(counts_[leaf], row.count);
    }
    if (view.types()[type].unit == "nanoseconds")
      for (int64_t& count : counts_) count = count / 1000 + (count % 1000 >= 500 ? 1 : 0);
    SortByParent();
  }

  absl::Status Write(TextSink sink) const;

 private:
  // A child's own line ("label COUNT") or all that lies below it ("label;"): these are what has an
  // order.
  struct Item {
    std::string key;
    uint32_t below = 0;  // Node whose children follow; 0: a line.
  };
  struct Level {
    std::vector<Item> items;
    size_t next = 0;
    size_t path_bytes = 0;  // Length of the path above.
  };

  // The node of `tree_node` below the process, made with all above it when it is new.
  uint32_t Insert(const CallTree& tree, const std::vector<uint32_t>& label_of, uint32_t process,
                  uint32_t tree_node) {
    std::vector<uint32_t> missing;
    uint32_t node = 0;
    while (tree_node != 0) {
      const auto known = known_.find({process, tree_node});
      if (known != known_.end()) {
        node = known->second;
        break;
      }
      missing.push_back(tree_node);
      tree_node = tree.nodes()[tree_node].parent;
    }
    if (tree_node == 0) node = nodes_.Intern({0, process}, true);
    for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
      node = nodes_.Intern({node, label_of[tree.nodes()[*next].frame]}, true);
      known_.emplace(std::pair(process, *next), node);
    }
    return node;
  }

  void SortByParent() {
    counts_.resize(nodes_.items().size());
    for (uint32_t i = 1; i < nodes_.items().size(); ++i) by_parent_.push_back(i);
    std::stable_sort(by_parent_.begin(), by_parent_.end(), [this](uint32_t a, uint32_t b) {
      return nodes_[a].parent < nodes_[b].parent;
    });
    first_child_.assign(nodes_.items().size() + 1, 0);
    for (const uint32_t node : by_parent_) ++first_child_[nodes_[node].parent + 1];
    for (size_t i = 1; i < first_child_.size(); ++i) first_child_[i] += first_child_[i - 1];
  }

  Level Open(uint32_t node, size_t path_bytes) const {
    Level level{.path_bytes = path_bytes};
    for (uint32_t i = first_child_[node]; i < first_child_[node + 1]; ++i) {
      const uint32_t child = by_parent_[i];
      const std::string_view label = labels_[nodes_[child].frame];
      if (counts_[child] > 0) level.items.push_back({Concat(label, " ", counts_[child])});
      if (first_child_[child] < first_child_[child + 1]) {
        level.items.push_back({Concat(label, ";"), child});
      }
    }
    std::sort(level.items.begin(), level.items.end(),
              [](const Item& a, const Item& b) { return a.key < b.key; });
    return level;
  }

  StringTable labels_;
  InternTable<ViewNode> nodes_;  // ViewNode::frame is a label.
  std::vector<int64_t> counts_;
  std::vector<uint32_t> by_parent_;    // Nodes, sorted by their parents …
  std::vector<uint32_t> first_child_;  // … and where each parent's begin.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> known_;
};

absl::Status FoldedTree::Write(TextSink sink) const {
  SinkBuffer buffer(sink);
  std::string path;
  std::vector<Level> levels;  // No recursion: stacks may be thousands of frames deep.
  levels.push_back(Open(0, 0));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.items.size()) {
      levels.pop_back();
      continue;
    }
    const Item& item = level.items[level.next++];
    path.resize(level.path_bytes);
    if (item.below != 0) {
      path += item.key;
      levels.push_back(Open(item.below, path.size()));
      continue;
    }
    AppendAll(buffer.text(), path, item.key, "\n");
    if (absl::Status status = buffer.FlushIfLong(); !status.ok()) return status;
  }
  return buffer.Flush();
}

}  // namespace

absl::Status WriteFolded(const ProfileView& view, uint32_t type, TextSink sink) {
  return FoldedTree(view, type).Write(sink);
}

std::string FoldedText(const ProfileView& view) { return FoldedText(view, view.DefaultType()); }

std::string FoldedText(const ProfileView& view, uint32_t type) {
  std::string text;
  WriteFolded(view, type, [&text](std::string_view part) {
    text += part;
    return absl::OkStatus();
  }).IgnoreError();
  return text;
}

}  // namespace stackray
