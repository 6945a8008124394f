#include "reporter/page/page_group.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_class_encode.h"
#include "reporter/page/page_group_names.h"
#include "reporter/page/page_index_write.h"
#include "reporter/page/page_store.h"
#include "reporter/page/tree_merge.h"

namespace stackray {
namespace {

struct Member {  // A class of one of the indexes.
  const GroupSource* source = nullptr;
  const PageClass* of = nullptr;
};

// What one function has in several classes.
class FunctionSums {
 public:
  void Add(const GroupSource& source, const ClassFunction& function, GroupNames* names) {
    self_.Add(function.total, function.self, function.masks, source);
    EachClassLine(function.lines, [&](const ClassLine& line) {
      lines_[names->Frame(source, line.frame)].Add(line.total, line.self, line.masks, source);
    });
  }
  // As page_class.h has a function's record.
  void AppendTo(const std::vector<size_t>& places, std::string* out) const {
    self_.AppendTo(out);
    std::string lines, offsets;
    for (const auto& [frame, sums] : lines_) {
      AppendNumber(frame, &lines);
      sums.AppendTo(&lines);
    }
    AppendBytes(lines, out);
    size_t before = 0;
    for (const size_t place : places) {
      AppendNumber(place - before, &offsets);
      before = place;
    }
    AppendBytes(offsets, out);
  }

 private:
  struct Sums {
    int64_t total = 0, self = 0;
    std::map<TypeMask, int64_t> masks;

    void Add(int64_t more_total, int64_t more_self, std::string_view bytes,
             const GroupSource& source) {
      total = SaturatingAdd(total, more_total);
      self = SaturatingAdd(self, more_self);
      for (IndexReader reader(bytes); !reader.done();) {
        const TypeMask mask = source.MaskOf(reader.Number());
        const int64_t value = reader.Count();
        if (!reader.bad()) masks[mask] = SaturatingAdd(masks[mask], value);
      }
    }
    void AppendTo(std::string* out) const {
      std::string bytes;
      for (const auto& [mask, value] : masks) {
        AppendNumber(mask, &bytes);
        AppendNumber(static_cast<uint64_t>(value), &bytes);
      }
      AppendNumber(static_cast<uint64_t>(total), out);
      AppendNumber(static_cast<uint64_t>(self), out);
      AppendBytes(bytes, out);
    }
  };

  Sums self_;
  std::map<uint32_t, Sums> lines_;  // By frame.
};

class Merger {
 public:
  Merger(const std::vector<PageIndex::Ptr>& indexes, const PageTables& tables,
         const std::stop_token& stop)
      : tables_(tables), stop_(stop), names_(tables, indexes), trees_(names_.functions().size()) {
    first_second_ = INT64_MAX;
    for (const PageIndex::Ptr& index : indexes) {
      if (index->last_second() < index->first_second()) continue;
      first_second_ = std::min(first_second_, index->first_second());
      last_second_ = std::max(last_second_, index->last_second());
    }
    if (first_second_ > last_second_) first_second_ = last_second_ + 1;
  }

  absl::StatusOr<std::string> Merge() {
    if (!names_.has_masks()) return absl::FailedPreconditionError("too many types of frames");
    for (const GroupSource& source : names_.sources())
      if (source.index->period_ns() != names_.sources()[0].index->period_ns())
        return absl::FailedPreconditionError("different periods");
    Types();
    Roots();
    if (const absl::Status status = Classes(); !status.ok()) return status;
    std::string bytes = Write();
    if (bytes.size() > kMostGroupBytes) return TooLong();
    return bytes;
  }

 private:
  static absl::Status TooLong() { return absl::ResourceExhaustedError("too many stacks"); }

  void Types() {
    for (const GroupSource& source : names_.sources())
      for (const PageTypeSums& sums : source.index->types()) {
        const auto [place, fresh] = type_numbers_.try_emplace(sums.type, types_.size());
        if (fresh) types_.push_back({.type = sums.type});
        PageTypeSums& to = types_[place->second];
        to.total = SaturatingAdd(to.total, sums.total);
        AddSummaryShare(sums.summary, 1, &to.summary);
      }
  }

  // Unix seconds in the place of the index's own.
  static void AddActivity(const PageIndex& index, std::string_view activity,
                          std::vector<IndexRow>* rows) {
    index.EachSecond(activity, [&](int64_t second, int64_t value) {
      rows->push_back({.second = second, .count = value});
    });
  }

  void Roots() {
    using Key = std::array<uint32_t, 3>;  // Type, thread, wait.
    struct Root {
      Key key;
      const PageIndex* index;
      const PageRoot* root;
    };
    std::vector<Root> all;
    for (const GroupSource& source : names_.sources())
      for (const PageRoot& root : source.index->roots())
        all.push_back({{root.type, root.thread, root.wait}, source.index, &root});
    std::ranges::stable_sort(all, {}, &Root::key);
    std::string bytes;
    size_t count = 0;
    std::vector<IndexRow> rows;
    for (size_t i = 0; i < all.size(); ++count) {
      const Key key = all[i].key;
      rows.clear();
      int64_t total = 0;
      for (; i < all.size() && all[i].key == key; ++i) {
        AddActivity(*all[i].index, all[i].root->activity, &rows);
        total = SaturatingAdd(total, all[i].root->total);
      }
      const PageThread& thread = tables_.threads[key[1]];
      for (const uint64_t number :
           {uint64_t{type_numbers_[key[0]]}, uint64_t{names_.Process(thread.process)},
            uint64_t{names_.Text(thread.name)}, uint64_t{names_.Text(key[2])},
            static_cast<uint64_t>(thread.tid), static_cast<uint64_t>(total)})
        AppendNumber(number, &bytes);
      AppendBytes(EncodeActivity(rows, first_second_), &bytes);
      AppendBytes("", &bytes);
    }
    AppendNumber(count, &roots_);
    roots_ += bytes;
  }

  auto ClassOf(const PageClass& of) const {
    const ViewProcess& p = tables_.processes[of.process];
    return std::array<uint32_t, 8>{of.type,     p.command, p.pid == 0 ? 1u : 0u,
                                   p.container, p.cgroup,  p.user,
                                   p.service,   of.wait};
  }

  absl::Status Classes() {
    std::map<std::array<uint32_t, 8>, std::vector<Member>> classes;
    for (const GroupSource& source : names_.sources())
      for (const PageClass& of : source.index->classes())
        classes[ClassOf(of)].push_back({&source, &of});
    AppendNumber(classes.size(), &classes_);
    for (const auto& [key, members] : classes) {
      if (stop_.stop_requested()) return absl::CancelledError("nobody waits for it");
      const PageClass& first = *members[0].of;
      int64_t total = 0;
      for (const Member& member : members) total = SaturatingAdd(total, member.of->total);
      for (const uint32_t number : {static_cast<uint32_t>(type_numbers_[first.type]),
                                    names_.Process(first.process), names_.Text(first.wait)})
        AppendNumber(number, &classes_);
      AppendNumber(static_cast<uint64_t>(total), &classes_);
      Class(members);
      if (classes_.size() > kMostGroupBytes) return TooLong();
    }
    return absl::OkStatus();
  }

  void Class(const std::vector<Member>& members) {
    std::vector<IndexRow> rows;
    std::vector<TreeToMerge> trees, ways, bare;
    int64_t bare_total = 0;
    bool has_native = false;
    for (const Member& member : members) {
      const auto& functions = member.source->functions;
      AddActivity(*member.source->index, member.of->activity, &rows);
      trees.push_back({member.of->tree, &functions});
      ways.push_back({member.of->ways, &functions});
      // Without native functions, the tree is the bare one too.
      const bool own = member.of->bare.at != member.of->bare.end;
      has_native |= own;
      bare.push_back({own ? member.of->bare : member.of->tree, &functions});
      bare_total = SaturatingAdd(bare_total, bare.back().tree.total);
    }
    AppendBytes(EncodeActivity(std::move(rows), first_second_), &classes_);
    std::vector<std::vector<size_t>> places(names_.functions().size());
    AppendBytes(trees_.Merge(trees, &places), &classes_);
    AppendBytes(trees_.Merge(ways, nullptr), &classes_);
    AppendNumber(static_cast<uint64_t>(bare_total), &classes_);
    AppendBytes(has_native ? trees_.Merge(bare, nullptr) : "", &classes_);
    AppendBytes(SumsOf(members, places), &classes_);
  }

  std::string SumsOf(const std::vector<Member>& members,
                     const std::vector<std::vector<size_t>>& places) {
    struct Found {
      uint32_t function;
      const Member* member;
      uint32_t number;  // Of the class's functions.
    };
    std::vector<Found> all;
    int64_t marked = 0;
    for (const Member& member : members) {
      const ClassFunctions functions(member.of->sums);
      marked = SaturatingAdd(marked, functions.marked());
      for (uint32_t i = 0; i < functions.size(); ++i)
        all.push_back({member.source->FunctionOf(functions.function(i)), &member, i});
    }
    std::ranges::stable_sort(all, {}, &Found::function);
    std::string directory, records;
    size_t count = 0;
    for (size_t i = 0; i < all.size(); ++count) {
      const uint32_t function = all[i].function;
      FunctionSums sums;
      for (; i < all.size() && all[i].function == function; ++i)
        sums.Add(*all[i].member->source, ClassFunctions(all[i].member->of->sums)[all[i].number],
                 &names_);
      AppendWord(function, &directory);
      AppendWord(static_cast<uint32_t>(records.size()), &directory);
      sums.AppendTo(places[function], &records);
    }
    std::string out;
    AppendNumber(static_cast<uint64_t>(marked), &out);
    AppendNumber(count, &out);
    return out + directory + records;
  }

  std::vector<uint32_t> Labels() {
    std::set<uint32_t> labels;
    for (const GroupSource& source : names_.sources())
      for (const uint32_t label : source.index->labels())
        if (labels.size() < kMostIndexLabels) labels.insert(names_.Text(label));
    return {labels.begin(), labels.end()};
  }

  std::string Write() {
    std::vector<PageIndexParts::Type> types;
    for (const PageTypeSums& sums : types_) {
      const PageType& type = tables_.types[sums.type];
      types.push_back(
          {tables_.strings[type.type], tables_.strings[type.unit], sums.total, &sums.summary});
    }
    int64_t start_ns = INT64_MAX, end_ns = 0;
    for (const GroupSource& source : names_.sources()) {
      start_ns = std::min(start_ns, source.index->start_unix_ns());
      end_ns = std::max(end_ns, source.index->end_unix_ns());
    }
    const PageIndex& first = *names_.sources()[0].index;
    const uint32_t host = names_.Text(first.host());
    const std::vector<uint32_t> labels = Labels();
    return WritePageIndex({.start_unix_ns = start_ns,
                           .end_unix_ns = end_ns,
                           .period_ns = first.period_ns(),
                           .first_second = first_second_,
                           .seconds = last_second_ - first_second_ + 1,
                           .host = host,
                           .labels = labels,
                           .strings = names_.strings(),
                           .functions = names_.functions(),
                           .frames = names_.frames(),
                           .processes = names_.processes(),
                           .types = std::move(types),
                           .classes = classes_,
                           .roots = roots_});
  }

  const PageTables& tables_;
  const std::stop_token& stop_;
  GroupNames names_;
  TreeMerge trees_;
  int64_t first_second_ = 0, last_second_ = -1;
  std::map<uint32_t, size_t> type_numbers_;
  std::vector<PageTypeSums> types_;
  std::string classes_, roots_;
};

}  // namespace

absl::StatusOr<std::string> MergeIndexes(const std::vector<PageIndex::Ptr>& indexes,
                                         const PageTables& tables, const std::stop_token& stop) {
  if (indexes.empty()) return absl::FailedPreconditionError("no indexes");
  return Merger(indexes, tables, stop).Merge();
}

}  // namespace stackray
