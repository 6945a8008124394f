// Makes a page index of what a builder holds.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "reporter/page/index_bytes.h"
#include "reporter/page/index_tree.h"
#include "reporter/page/page_class_encode.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_index_builder.h"
#include "reporter/page/page_index_write.h"
#include "reporter/page/whole_tree.h"

namespace stackray {
namespace {

// One thread's part of the whole tree.
std::string PackThread(const std::vector<IndexRow>& rows, int64_t first_second, TreePart* part) {
  std::vector<uint32_t> used;
  used.reserve(rows.size());
  for (const IndexRow& row : rows) used.push_back(row.node);
  part->Pick(used);
  std::vector<TreeRow> packed;
  packed.reserve(rows.size());
  for (const IndexRow& row : rows)
    packed.push_back(
        {part->EntryOf(row.node), static_cast<uint32_t>(row.second - first_second), row.count});
  std::ranges::sort(packed, {}, [](const TreeRow& r) { return std::pair(r.entry, r.second); });
  return PackTree(part->entries(), packed);
}

class Encoder {
 public:
  explicit Encoder(const PageIndexBuilder& from) : from_(from), tree_(from.nodes()) {}

  std::string Encode() {
    int64_t first = INT64_MAX, last = 0;
    for (const IndexRow& row : from_.rows()) {
      first = std::min(first, row.second);
      last = std::max(last, row.second);
    }
    const bool empty = from_.rows().empty();
    first_second_ = empty ? 0 : first;
    Classes();
    Roots();
    std::vector<PageIndexParts::Type> types;
    for (uint32_t type = 0; type < from_.types().size(); ++type) {
      const TypeSums& sums = from_.types()[type];
      types.push_back({sums.type, sums.unit, sums.total, &from_.summaries()[type]});
    }
    return WritePageIndex({.start_unix_ns = from_.start_unix_ns(),
                           .end_unix_ns = from_.end_unix_ns(),
                           .period_ns = std::llround(std::clamp(from_.period_ns(), 0.0, 1e18)),
                           .first_second = first_second_,
                           .seconds = empty ? 0 : last - first_second_ + 1,
                           .host = from_.host_name_id(),
                           .labels = from_.labels(),
                           .strings = from_.strings(),
                           .functions = from_.functions(),
                           .frames = from_.frames(),
                           .processes = from_.processes(),
                           .types = std::move(types),
                           .classes = classes_,
                           .roots = roots_});
  }

 private:
  using Rows = std::vector<IndexRow>;

  // Rows of each thread, which lie together; in the order of threads.
  template <typename F>
  void EachThread(F&& f) const {
    const Rows& rows = from_.rows();
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin;
      while (end < rows.size() && rows[end].thread == rows[begin].thread) ++end;
      f(std::span(rows).subspan(begin, end - begin));
      begin = end;
    }
  }

  // What threads of one class have in common.
  auto ClassOf(uint32_t number) const {
    const ViewThread& thread = from_.threads()[number];
    const ViewProcess& p = from_.processes()[thread.process];
    return std::array<uint32_t, 8>{thread.type, p.command,  p.pid == 0 ? 1u : 0u,
                                   p.container, p.cgroup,   p.user,
                                   p.service,   thread.wait};
  }

  void Classes() {
    std::map<std::array<uint32_t, 8>, std::vector<std::span<const IndexRow>>> classes;
    EachThread(
        [&](std::span<const IndexRow> rows) { classes[ClassOf(rows[0].thread)].push_back(rows); });
    AppendNumber(classes.size(), &classes_);
    ClassEncoder encoder(from_, tree_);
    for (const auto& [key, parts] : classes) {
      Rows rows;
      for (const std::span<const IndexRow> part : parts)
        rows.insert(rows.end(), part.begin(), part.end());
      const ViewThread& thread = from_.threads()[rows[0].thread];
      for (const uint32_t number : {thread.type, thread.process, thread.wait})
        AppendNumber(number, &classes_);
      AppendNumber(static_cast<uint64_t>(TotalOf(rows)), &classes_);
      classes_ += encoder.Encode(rows, first_second_);
    }
  }

  void Roots() {
    size_t roots = 0;
    EachThread([&](std::span<const IndexRow>) { ++roots; });
    AppendNumber(roots, &roots_);
    TreePart part(tree_);
    EachThread([&](std::span<const IndexRow> rows) { Root({rows.begin(), rows.end()}, &part); });
  }

  void Root(Rows rows, TreePart* part) {
    const ViewThread& thread = from_.threads()[rows[0].thread];
    for (const uint32_t number : {thread.type, thread.process, thread.name, thread.wait})
      AppendNumber(number, &roots_);
    AppendNumber(static_cast<uint64_t>(std::max<int64_t>(thread.tid, 0)), &roots_);
    AppendNumber(static_cast<uint64_t>(TotalOf(rows)), &roots_);
    const std::string tree = PackThread(rows, first_second_, part);
    AppendBytes(EncodeActivity(std::move(rows), first_second_), &roots_);
    AppendBytes(tree, &roots_);
  }

  static int64_t TotalOf(const Rows& rows) {
    int64_t total = 0;
    for (const IndexRow& row : rows) total = SaturatingAdd(total, row.count);
    return total;
  }

  const PageIndexBuilder& from_;
  const WholeTree tree_;
  int64_t first_second_ = 0;
  std::string classes_, roots_;
};

}  // namespace

std::string EncodePageIndex(const PageIndexBuilder& builder) { return Encoder(builder).Encode(); }

}  // namespace stackray
