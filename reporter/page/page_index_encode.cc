// Writes a page index; page_index.h has the layout.
#include <zlib.h>

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
    out_ = kPageIndexMagic;
    int64_t first = INT64_MAX, last = 0;
    for (const IndexRow& row : from_.rows()) {
      first = std::min(first, row.second);
      last = std::max(last, row.second);
    }
    first_second_ = from_.rows().empty() ? 0 : first;
    Number(from_.start_unix_ns());
    Number(from_.end_unix_ns());
    Number(std::llround(std::clamp(from_.period_ns(), 0.0, 1e18)));
    Number(first_second_);
    Number(from_.rows().empty() ? 0 : last - first_second_ + 1);
    Tables();
    Types();
    Classes();
    Roots();
    const auto check =
        static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(out_.data()), out_.size()));
    AppendWord(check, &out_);
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
    Frames();
    Table(from_.processes(), [&](const ViewProcess& p) {
      Number(p.pid);
      for (const uint32_t text :
           {p.command, p.executable, p.container, p.cgroup, p.user, p.service, p.creation_time})
        Number(text);
    });
  }

  // Of equal widths: a reader takes the one that it needs.
  void Frames() {
    std::vector<uint32_t> sources, number_of(from_.strings().size(), kNoId);
    std::string frames;
    for (const IndexFrame& f : from_.frames()) {
      if (number_of[f.source] == kNoId) {
        number_of[f.source] = static_cast<uint32_t>(sources.size());
        sources.push_back(f.source);
      }
      for (const uint32_t number : {f.function, number_of[f.source], f.line})
        AppendWord(number, &frames);
    }
    Table(sources, [&](uint32_t source) { Number(source); });
    AppendBytes(frames, &out_);
  }

  void Types() {
    AppendNumber(from_.types().size(), &out_);
    for (uint32_t type = 0; type < from_.types().size(); ++type) {
      const TypeSums& sums = from_.types()[type];
      AppendBytes(sums.type, &out_);
      AppendBytes(sums.unit, &out_);
      Number(sums.total);
      Summary(from_.summaries()[type]);
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
    AppendNumber(classes.size(), &out_);
    ClassEncoder encoder(from_, tree_);
    for (const auto& [key, parts] : classes) {
      Rows rows;
      for (const std::span<const IndexRow> part : parts)
        rows.insert(rows.end(), part.begin(), part.end());
      const ViewThread& thread = from_.threads()[rows[0].thread];
      for (const uint32_t number : {thread.type, thread.process, thread.wait}) Number(number);
      Number(TotalOf(rows));
      out_ += encoder.Encode(rows, first_second_);
    }
  }

  void Roots() {
    size_t roots = 0;
    EachThread([&](std::span<const IndexRow>) { ++roots; });
    AppendNumber(roots, &out_);
    TreePart part(tree_);
    EachThread([&](std::span<const IndexRow> rows) { Root({rows.begin(), rows.end()}, &part); });
  }

  void Root(Rows rows, TreePart* part) {
    const ViewThread& thread = from_.threads()[rows[0].thread];
    for (const uint32_t number : {thread.type, thread.process, thread.name, thread.wait})
      Number(number);
    Number(thread.tid);
    Number(TotalOf(rows));
    const std::string tree = PackThread(rows, first_second_, part);
    AppendBytes(EncodeActivity(std::move(rows), first_second_), &out_);
    AppendBytes(tree, &out_);
  }

  static int64_t TotalOf(const Rows& rows) {
    int64_t total = 0;
    for (const IndexRow& row : rows) total = SaturatingAdd(total, row.count);
    return total;
  }

  const PageIndexBuilder& from_;
  const WholeTree tree_;
  int64_t first_second_ = 0;
  std::string out_;
};

}  // namespace

std::string EncodePageIndex(const PageIndexBuilder& builder) { return Encoder(builder).Encode(); }

}  // namespace stackray
