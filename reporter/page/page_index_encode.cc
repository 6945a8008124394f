// Writes a page index; page_index.h has the layout.
#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "reporter/page/index_bytes.h"
#include "reporter/page/index_tree.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_index_builder.h"

namespace stackray {
namespace {

// The builder's tree of all threads, depth first.
class WholeTree {
 public:
  explicit WholeTree(const std::vector<ViewNode>& nodes) : nodes_(nodes), order_(nodes.size()) {
    std::vector<uint32_t> first(nodes.size()), next(nodes.size());
    for (auto i = static_cast<uint32_t>(nodes.size()); i-- > 1;) {
      next[i] = first[nodes[i].parent];
      first[nodes[i].parent] = i;
    }
    by_order_.reserve(nodes.size());
    std::vector<uint32_t> open{0};  // Nodes whose subtree is next.
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      order_[node] = static_cast<uint32_t>(by_order_.size());
      by_order_.push_back(node);
      if (next[node] != 0) open.push_back(next[node]);
      if (first[node] != 0) open.push_back(first[node]);
    }
  }
  uint32_t order(uint32_t node) const { return order_[node]; }
  const std::vector<uint32_t>& by_order() const { return by_order_; }
  const ViewNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  const std::vector<ViewNode>& nodes_;
  std::vector<uint32_t> order_, by_order_;
};

// One thread's part of the whole tree, as PackTree() takes it.
class ThreadTree {
 public:
  explicit ThreadTree(const WholeTree& tree) : tree_(tree), entry_(tree.size(), kNoId) {}

  // `rows`: of one thread.
  std::string Pack(std::vector<IndexRow> rows, int64_t first_second) {
    std::vector<uint32_t> nodes{0};
    entry_[0] = 0;
    for (const IndexRow& row : rows)
      for (uint32_t node = row.node; entry_[node] == kNoId; node = tree_[node].parent) {
        entry_[node] = 0;
        nodes.push_back(node);
      }
    std::ranges::sort(nodes, {}, [&](uint32_t node) { return tree_.order(node); });
    std::vector<TreeEntry> entries;
    for (const uint32_t node : nodes) {
      entry_[node] = static_cast<uint32_t>(entries.size());
      entries.push_back({.parent = node == 0 ? 0 : entry_[tree_[node].parent],
                         .frame = node == 0 ? 0 : tree_[node].frame});
    }
    std::vector<TreeRow> packed;
    for (const IndexRow& row : rows)
      packed.push_back(
          {entry_[row.node], static_cast<uint32_t>(row.second - first_second), row.count});
    std::ranges::sort(packed, {}, [](const TreeRow& r) { return std::pair(r.entry, r.second); });
    std::string bytes = PackTree(entries, packed);
    for (const uint32_t node : nodes) entry_[node] = kNoId;
    return bytes;
  }

 private:
  const WholeTree& tree_;
  std::vector<uint32_t> entry_;  // Of nodes; kNoId: not in this thread.
};

// What each function has of one type, itself and with all that it called: each sample once.
class FunctionSums {
 public:
  FunctionSums(const PageIndexBuilder& from, const WholeTree& tree, uint32_t type)
      : from_(from), tree_(tree), self_(tree.size()), of_functions_(from.functions().size()) {
    for (const IndexRow& row : from.rows())
      if (from.threads()[row.thread].type == type)
        self_[row.node] = SaturatingAdd(self_[row.node], row.count);
    total_ = self_;
    const std::vector<uint32_t>& order = tree.by_order();
    for (size_t i = order.size(); i-- > 1;) {
      int64_t& above = total_[tree[order[i]].parent];
      above = SaturatingAdd(above, total_[order[i]]);
    }
    Add();
  }

  void AppendTo(std::string* out) const {
    AppendNumber(static_cast<uint64_t>(marked_), out);
    size_t used = 0;
    for (const Sums& sums : of_functions_) used += sums.total > 0 ? 1 : 0;
    AppendNumber(used, out);
    for (size_t i = 0; i < of_functions_.size(); ++i) {
      if (of_functions_[i].total == 0) continue;
      AppendNumber(i, out);
      AppendNumber(static_cast<uint64_t>(of_functions_[i].self), out);
      AppendNumber(static_cast<uint64_t>(of_functions_[i].total), out);
    }
  }

 private:
  struct Sums {
    int64_t self = 0, total = 0;
    uint32_t open = 0;  // How often it is on the way to the present node.
  };

  uint32_t FunctionOf(uint32_t node) const { return from_.frames()[tree_[node].frame].function; }

  void Add() {
    std::vector<uint32_t> way;  // To the present node, without the root.
    uint32_t open_markers = 0;
    std::vector<bool> marker;
    for (const PageFunction& function : from_.functions())
      marker.push_back(from_.Text(function.type) == kMarkerFrameType);
    for (const uint32_t node : tree_.by_order()) {
      if (node == 0 || total_[node] == 0) continue;
      while (!way.empty() && way.back() != tree_[node].parent) {
        --of_functions_[FunctionOf(way.back())].open;
        open_markers -= marker[FunctionOf(way.back())] ? 1 : 0;
        way.pop_back();
      }
      way.push_back(node);
      const uint32_t function = FunctionOf(node);
      Sums& sums = of_functions_[function];
      sums.self = SaturatingAdd(sums.self, self_[node]);
      if (sums.open++ == 0) sums.total = SaturatingAdd(sums.total, total_[node]);
      if (marker[function] && open_markers++ == 0) marked_ = SaturatingAdd(marked_, total_[node]);
    }
  }

  const PageIndexBuilder& from_;
  const WholeTree& tree_;
  std::vector<int64_t> self_, total_;
  std::vector<Sums> of_functions_;
  int64_t marked_ = 0;  // Values of stacks with a marker.
};

class Encoder {
 public:
  explicit Encoder(const PageIndexBuilder& from) : from_(from), tree_(from.nodes()) {}

  std::string Encode() {
    out_ = kPageIndexMagic;
    int64_t first = INT64_MAX;
    for (const IndexRow& row : from_.rows()) first = std::min(first, row.second);
    first_second_ = from_.rows().empty() ? 0 : first;
    Number(from_.start_unix_ns());
    Number(from_.end_unix_ns());
    Number(std::llround(std::clamp(from_.period_ns(), 0.0, 1e18)));
    Number(first_second_);
    Tables();
    Types();
    Roots();
    const auto check =
        static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(out_.data()), out_.size()));
    for (int shift = 0; shift < 32; shift += 8) out_.push_back(static_cast<char>(check >> shift));
    return std::move(out_);
  }

 private:
  void Number(int64_t number) {
    AppendNumber(static_cast<uint64_t>(std::max<int64_t>(number, 0)), &out_);
  }
  template <typename T, typename F>
  void Table(const std::vector<T>& items, F&& write) {
    AppendNumber(items.size(), &out_);
    for (const T& item : items) write(item);
  }

  void Tables() {
    const StringTable& strings = from_.strings();
    AppendNumber(strings.size(), &out_);
    for (uint32_t i = 0; i < strings.size(); ++i) AppendBytes(strings[i], &out_);
    Number(from_.host_name_id());
    Table(from_.functions(), [&](const PageFunction& f) {
      for (const uint32_t number : {f.name, f.type, f.file, f.inlined}) Number(number);
    });
    Table(from_.frames(), [&](const IndexFrame& f) {
      for (const uint32_t number : {f.function, f.source, f.line}) Number(number);
    });
    Table(from_.processes(), [&](const ViewProcess& p) {
      Number(p.pid);
      for (const uint32_t text : {p.command, p.executable, p.container, p.service, p.creation_time})
        Number(text);
    });
  }

  void Types() {
    AppendNumber(from_.types().size(), &out_);
    for (uint32_t type = 0; type < from_.types().size(); ++type) {
      const TypeSums& sums = from_.types()[type];
      AppendBytes(sums.type, &out_);
      AppendBytes(sums.unit, &out_);
      Number(sums.total);
      Summary(from_.summaries()[type]);
      std::string functions;
      FunctionSums(from_, tree_, type).AppendTo(&functions);
      AppendBytes(functions, &out_);
    }
  }

  void Summary(const ProfileSummary& s) {
    for (const int64_t number :
         {s.samples, s.value, s.lost, s.outside, s.user_stacks, s.complete, s.through_unknown,
          s.user_frames, s.user_named, s.kernel_frames, s.kernel_named})
      Number(number);
    for (size_t i = 0; i < kNoNameKinds; ++i) Number(s.unnamed.frames(static_cast<NoName>(i)));
    Table(s.unnamed.jit_commands(), [&](const auto& entry) {
      AppendBytes(entry.first, &out_);
      Number(entry.second);
    });
  }

  void Roots() {
    const std::vector<IndexRow>& rows = from_.rows();
    ThreadTree thread_tree(tree_);
    size_t roots = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      roots += i == 0 || rows[i].thread != rows[i - 1].thread ? 1 : 0;
    AppendNumber(roots, &out_);
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin;
      while (end < rows.size() && rows[end].thread == rows[begin].thread) ++end;
      Root({rows.begin() + static_cast<std::ptrdiff_t>(begin),
            rows.begin() + static_cast<std::ptrdiff_t>(end)},
           &thread_tree);
      begin = end;
    }
  }

  void Root(std::vector<IndexRow> rows, ThreadTree* thread_tree) {
    const ViewThread& thread = from_.threads()[rows[0].thread];
    for (const uint32_t number : {thread.type, thread.process, thread.name, thread.wait})
      Number(number);
    Number(thread.tid);
    int64_t total = 0;
    for (const IndexRow& row : rows) total = SaturatingAdd(total, row.count);
    Number(total);
    const std::string tree = thread_tree->Pack(rows, first_second_);
    AppendBytes(Activity(std::move(rows)), &out_);
    AppendBytes(tree, &out_);
  }

  // What each second has, as rows of a tree are written.
  std::string Activity(std::vector<IndexRow> rows) const {
    std::ranges::sort(rows, {}, [](const IndexRow& row) { return row.second; });
    std::string bytes;
    int64_t before = first_second_;
    for (size_t i = 0; i < rows.size();) {
      int64_t count = 0;
      const int64_t second = rows[i].second;
      for (; i < rows.size() && rows[i].second == second; ++i)
        count = SaturatingAdd(count, rows[i].count);
      AppendNumber(static_cast<uint64_t>(second - before), &bytes);
      AppendNumber(static_cast<uint64_t>(count), &bytes);
      before = second;
    }
    return bytes;
  }

  const PageIndexBuilder& from_;
  const WholeTree tree_;
  int64_t first_second_ = 0;
  std::string out_;
};

}  // namespace

std::string EncodePageIndex(const PageIndexBuilder& builder) { return Encoder(builder).Encode(); }

}  // namespace stackray
