#include "reporter/page/page_index.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "reporter/formats/view_buckets.h"
#include "reporter/page/index_bytes.h"

namespace stackray {
namespace {

constexpr size_t kSumBytes = 4;

bool SumIsRight(std::string_view bytes) {
  if (bytes.size() < kPageIndexMagic.size() + kSumBytes || !bytes.starts_with(kPageIndexMagic))
    return false;
  const std::string_view sum = bytes.substr(bytes.size() - kSumBytes);
  return ReadWord(sum, 0) ==
         crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size() - kSumBytes);
}

}  // namespace

// f(the first function of a type, the type's number); false: there are too many types.
template <typename F>
bool PageIndex::EachType(const PageTables& tables, F&& f) const {
  std::vector<std::pair<uint32_t, uint32_t>> types;  // As they are numbered.
  for (const uint32_t number : *functions_) {
    const PageFunction& function = tables.functions[number];
    const std::pair<uint32_t, uint32_t> type{function.type, function.inlined};
    if (std::ranges::find(types, type) != types.end()) continue;
    if (types.size() == kMostFrameTypes) return false;
    f(number, types.size());
    types.push_back(type);
  }
  return true;
}

class PageIndex::Parser {
 public:
  Parser(std::string_view body, PageTables* tables, PageIndex* out)
      : reader_(body), tables_(*tables), out_(*out) {}

  bool Parse() {
    out_.start_unix_ns_ = reader_.Count();
    out_.end_unix_ns_ = std::max(reader_.Count(), out_.start_unix_ns_);
    out_.period_ns_ = reader_.Count();
    out_.first_second_ = std::min<int64_t>(reader_.Count(), INT64_MAX / 1'000'000'000);
    out_.last_second_ = out_.first_second_ - 1 + reader_.Index(size_t{1} << 31);
    for (size_t left = reader_.Length(); left > 0; --left)
      strings_.push_back(tables_.strings.Intern(reader_.Bytes(), true));
    if (strings_.empty()) return false;
    out_.host_ = Text();
    for (size_t left = reader_.Length(); left > 0; --left) out_.labels_.push_back(Text());
    Functions();
    Frames();
    Processes();
    Types();
    Classes();
    Roots();
    out_.has_masks_ = out_.EachType(tables_, [](uint32_t, size_t) {});
    return !reader_.bad() && reader_.done();
  }

 private:
  uint32_t Text() { return strings_[reader_.Index(strings_.size())]; }

  void Functions() {
    auto functions = std::make_shared<std::vector<uint32_t>>();
    for (size_t left = reader_.Length(4); left > 0; --left) {
      PageFunction function{.name = Text(), .type = Text(), .file = Text()};
      function.inlined = reader_.Index(2);
      functions->push_back(tables_.functions.Intern(function, true));
    }
    if (functions->empty()) functions->push_back(0);
    out_.functions_ = std::move(functions);
  }

  void Frames() {
    auto sources = std::make_shared<std::vector<uint32_t>>();
    for (size_t left = reader_.Length(); left > 0; --left) sources->push_back(Text());
    if (sources->empty()) sources->push_back(0);
    out_.sources_ = std::move(sources);
    out_.frames_ = reader_.Bytes();
  }

  void Processes() {
    for (size_t left = reader_.Length(8); left > 0; --left) {
      ViewProcess process{.pid = reader_.Count()};
      process.command = Text();
      process.executable = Text();
      process.container = Text();
      process.cgroup = Text();
      process.user = Text();
      process.service = Text();
      process.creation_time = Text();
      processes_.push_back(tables_.processes.Intern(process, true));
    }
  }

  void Types() {
    for (size_t left = reader_.Length(3); left > 0; --left) {
      PageTypeSums sums;
      PageType type{.type = tables_.strings.Intern(reader_.Bytes(), true)};
      type.unit = tables_.strings.Intern(reader_.Bytes(), true);
      sums.type = tables_.types.Intern(type, true);
      sums.total = reader_.Count();
      sums.summary = Summary();
      sums.summary.type = tables_.strings[type.type];
      sums.summary.unit = tables_.strings[type.unit];
      out_.types_.push_back(std::move(sums));
    }
  }

  ProfileSummary Summary() {
    ProfileSummary s;
    for (int64_t* const number :
         {&s.samples, &s.value, &s.lost, &s.outside, &s.user_stacks, &s.complete,
          &s.through_unknown, &s.user_frames, &s.user_named, &s.kernel_frames, &s.kernel_named})
      *number = reader_.Count();
    for (size_t i = 0; i < kNoNameKinds; ++i) {
      const int64_t frames = reader_.Count();
      unnamed_[i] = frames;
    }
    int64_t jit = unnamed_[static_cast<size_t>(NoName::kJit)];
    for (size_t left = reader_.Length(2); left > 0; --left) {
      const std::string_view command = reader_.Bytes();
      const int64_t frames = std::min(reader_.Count(), jit);
      s.unnamed.Add(NoName::kJit, frames, command);
      jit -= frames;
    }
    unnamed_[static_cast<size_t>(NoName::kJit)] = jit;
    for (size_t i = 0; i < kNoNameKinds; ++i)
      s.unnamed.Add(static_cast<NoName>(i), unnamed_[i], "");
    return s;
  }

  TreePlace Tree(int64_t total) {
    const std::string_view bytes = reader_.Bytes();
    return {bytes.data(), bytes.data() + bytes.size(), total};
  }

  void Classes() {
    for (size_t left = reader_.Length(8); left > 0; --left) {
      PageClass of;
      const size_t type = reader_.Index(out_.types_.size());
      const size_t process = reader_.Index(processes_.size());
      of.wait = Text();
      of.total = reader_.Count();
      of.activity = reader_.Bytes();
      of.tree = Tree(of.total);
      of.ways = Tree(of.total);
      of.bare = Tree(reader_.Count());
      of.sums = reader_.Bytes();
      if (reader_.bad() || processes_.empty() || out_.types_.empty()) return;
      of.type = out_.types_[type].type;
      of.process = processes_[process];
      out_.classes_.push_back(of);
    }
  }

  void Roots() {
    for (size_t left = reader_.Length(8); left > 0; --left) {
      PageRoot root;
      const size_t type = reader_.Index(out_.types_.size());
      const size_t process = reader_.Index(processes_.size());
      PageThread thread{.name = Text()};
      root.wait = Text();
      thread.tid = reader_.Count();
      root.total = reader_.Count();
      root.activity = reader_.Bytes();
      root.tree = Tree(root.total);
      if (reader_.bad() || processes_.empty() || out_.types_.empty()) return;
      thread.process = processes_[process];
      root.type = out_.types_[type].type;
      root.thread = tables_.threads.Intern(thread, true);
      out_.roots_.push_back(root);
    }
  }

  IndexReader reader_;
  PageTables& tables_;
  PageIndex& out_;
  std::vector<uint32_t> strings_, processes_;
  int64_t unnamed_[kNoNameKinds] = {};
};

absl::StatusOr<PageIndex::Ptr> PageIndex::Open(std::string_view bytes,
                                               std::shared_ptr<const void> owner,
                                               PageTables* tables) {
  if (!SumIsRight(bytes)) return absl::DataLossError("page index: damaged");
  auto index = std::shared_ptr<PageIndex>(new PageIndex);
  index->owner_ = std::move(owner);
  index->bytes_ = bytes.size();
  bytes.remove_prefix(kPageIndexMagic.size());
  bytes.remove_suffix(kSumBytes);
  if (!Parser(bytes, tables, index.get()).Parse())
    return absl::DataLossError("page index: an index outside its table");
  return index;
}

PageFrame PageIndex::frame(uint32_t number) const {
  const uint32_t source = FrameWord(number, 1);
  return {.function = function(FrameWord(number, 0)),
          .source = (*sources_)[source < sources_->size() ? source : 0],
          .line = FrameWord(number, 2)};
}

TypeMask PageIndex::MaskOf(const std::vector<bool>& hidden, const PageTables& tables) const {
  TypeMask mask = 0;
  if (std::ranges::find(hidden, true) == hidden.end()) return mask;
  EachType(tables, [&](uint32_t number, size_t bit) {
    if (hidden[number]) mask |= TypeMask{1} << bit;
  });
  return mask;
}

namespace {

// One tree's rows of some seconds, as entries of another tree.
class TreeCut {
 public:
  TreeCut(uint32_t from, uint32_t to) : from_(from), to_(to) {}

  std::string Pack(const TreePlace& top) {
    struct Open {
      TreePlace place;
      uint32_t parent;
    };
    std::vector<Open> open{{top, 0}};
    std::vector<TreePlace> children;
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      const TreeNode node = TreeNode::At(next.place);
      const auto entry = static_cast<uint32_t>(entries_.size());
      entries_.push_back({next.parent, node.frame});
      EachRow(node.rows, [&](uint32_t second, int64_t count) {
        if (second >= from_ && second < to_) rows_.push_back({entry, second - from_, count});
      });
      children.clear();
      node.EachChild([&](const TreePlace& child) { children.push_back(child); });
      for (auto child = children.rbegin(); child != children.rend(); ++child)
        open.push_back({*child, entry});
    }
    DropEmpty();
    return PackTree(entries_, rows_);
  }
  const std::vector<TreeRow>& rows() const { return rows_; }

 private:
  void DropEmpty() {
    std::vector<uint32_t> used(entries_.size());
    for (const TreeRow& row : rows_) used[row.entry] = 1;
    used[0] = 1;
    for (size_t i = entries_.size(); i-- > 1;) used[entries_[i].parent] |= used[i];
    std::vector<TreeEntry> kept;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (used[i] == 0) continue;
      TreeEntry entry = entries_[i];
      entry.parent = i == 0 ? 0 : used[entry.parent];
      used[i] = static_cast<uint32_t>(kept.size());  // From here on its number.
      kept.push_back(entry);
    }
    for (TreeRow& row : rows_) row.entry = used[row.entry];
    entries_ = std::move(kept);
  }

  const uint32_t from_, to_;
  std::vector<TreeEntry> entries_;
  std::vector<TreeRow> rows_;
};

}  // namespace

PageRoot PageIndex::CutRoot(const PageRoot& root, uint32_t from, uint32_t to,
                            std::string* bytes) const {
  PageRoot cut = root;
  cut.total = 0;
  std::string activity;
  uint32_t before = from;
  EachRow(root.activity, [&](uint32_t second, int64_t value) {
    if (second < from || second >= to) return;
    AppendNumber(second - before, &activity);
    AppendNumber(static_cast<uint64_t>(value), &activity);
    before = second;
    cut.total = SaturatingAdd(cut.total, value);
  });
  if (cut.total == 0) return cut;
  const std::string tree = TreeCut(from, to).Pack(root.tree);
  *bytes = activity + tree;
  cut.activity = std::string_view(*bytes).substr(0, activity.size());
  cut.tree = {bytes->data() + activity.size(), bytes->data() + bytes->size(), cut.total};
  return cut;
}

PageIndex::Ptr PageIndex::Cut(int64_t from_s, int64_t to_s) const {
  auto cut = std::shared_ptr<PageIndex>(new PageIndex(*this));
  const int64_t from = std::max(from_s, first_second_), to = std::min(to_s, last_second_ + 1);
  cut->is_cut_ = true;
  cut->roots_.clear();
  cut->classes_.clear();
  cut->first_second_ = from;
  cut->last_second_ = std::max(to, from) - 1;
  cut->bytes_ = 0;
  for (PageTypeSums& type : cut->types_) type = {.type = type.type};
  auto texts = std::make_shared<std::vector<std::unique_ptr<std::string>>>();
  for (const PageRoot& root : roots_) {
    if (from >= to) break;
    auto bytes = std::make_unique<std::string>();
    PageRoot left = CutRoot(root, static_cast<uint32_t>(from - first_second_),
                            static_cast<uint32_t>(to - first_second_), bytes.get());
    if (left.total == 0) continue;
    cut->bytes_ += bytes->size();
    cut->roots_.push_back(left);
    texts->push_back(std::move(bytes));
  }
  cut->cut_owner_ = std::move(texts);
  return cut;
}

}  // namespace stackray
