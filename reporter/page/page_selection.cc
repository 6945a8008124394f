#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "profile/sample_types.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_choices.h"
#include "reporter/page/page_lanes.h"
#include "reporter/page/page_store.h"

namespace stackray {
namespace {

constexpr const SampleType& kCpu = kSampleTypes[static_cast<size_t>(SampleOrigin::kCpuClock)];
constexpr int64_t kMostBuckets = 240;
constexpr std::string_view kInlinedNative = "native+inline";

struct Seconds {
  int64_t from = 0, to = 0;
  bool Has(int64_t second) const { return second >= from && second < to; }
  bool Covers(const PageIndex& index) const {
    return index.first_second() >= from && index.last_second() < to;
  }
  bool Meets(const PageIndex& index) const {
    return index.first_second() < to && index.last_second() >= from;
  }
};

class Selector {
 public:
  Selector(const PageStore& store, const PageQuestion& question)
      : store_(store),
        tables_(store.tables()),
        question_(question),
        choices_(store, question),
        by_class_(question.processes.empty() && question.threads.empty()),
        draws_classes_(by_class_ && question.grouping != PageGrouping::kProcess &&
                       question.grouping != PageGrouping::kThread),
        hides_native_(question.hidden.contains(kNativeFrameType) &&
                      question.hidden.contains(kInlinedNative)) {
    range_ = {question.from_ms / 1000, (question.to_ms + 999) / 1000};
    chosen_ = !question.chooses_time()
                  ? range_
                  : Seconds{std::max(question.chosen_from_ms / 1000, range_.from),
                            std::min((question.chosen_to_ms + 999) / 1000, range_.to)};
    out_.start_ms = range_.from * 1000;
    out_.end_ms = range_.to * 1000;
    while ((range_.to - range_.from) * 1000 > out_.bucket_ms * kMostBuckets) out_.bucket_ms *= 2;
    const int64_t buckets = (out_.end_ms - out_.start_ms + out_.bucket_ms - 1) / out_.bucket_ms;
    out_.timeline.resize(static_cast<size_t>(std::max<int64_t>(buckets, 1)));
  }

  PageSelection Run() {
    FindTypes();
    if (out_.types.empty()) return std::move(out_);
    for (const PageIndex::Ptr& index : store_.indexes())
      if (range_.Meets(*index)) Take(*index);
    choices_.Finish(&out_);
    if (question_.lanes) Lanes();
    return std::move(out_);
  }

 private:
  struct OfThread {  // What is known of a thread once it was asked for.
    bool known = false, passes = false;
    int64_t lane_sum = 0;
    std::vector<std::pair<uint32_t, int64_t>> lane;  // Bucket and value.
  };

  int64_t Factor(const PageIndex& index, uint32_t type) const {
    if (!IsCpu(type) || index.period_ns() <= 0 || out_.period_ns <= 0) return 1;
    const double ratio =
        static_cast<double>(index.period_ns()) / static_cast<double>(out_.period_ns);
    return ratio >= 1.5 && ratio <= PeriodWeight::kMostWeight ? std::llround(ratio) : 1;
  }
  bool IsCpu(uint32_t type) const {
    const PageType& t = tables_.types[type];
    return tables_.strings[t.type] == kCpu.type && tables_.strings[t.unit] == kCpu.unit;
  }

  void FindTypes() {
    for (const PageIndex::Ptr& index : store_.indexes()) {
      if (!range_.Meets(*index)) continue;
      if (out_.host == 0) out_.host = index->host();
      out_.labels.insert(index->labels().begin(), index->labels().end());
      if (index->period_ns() > 0 && (out_.period_ns == 0 || index->period_ns() < out_.period_ns))
        out_.period_ns = index->period_ns();
    }
    std::map<uint32_t, size_t> places;
    for (const PageIndex::Ptr& index : store_.indexes()) {
      if (!range_.Meets(*index)) continue;
      for (const PageTypeSums& sums : index->types()) {
        if (sums.total == 0 && sums.summary.lost == 0) continue;
        const auto [place, fresh] = places.try_emplace(sums.type, out_.types.size());
        if (fresh) out_.types.push_back({.type = sums.type});
        PageSelection::Type& type = out_.types[place->second];
        const int64_t in_range =
            range_.Covers(*index) ? sums.total : TotalInRange(*index, sums.type);
        type.total =
            SaturatingAdd(type.total, SaturatingMultiply(in_range, Factor(*index, sums.type)));
        const double share = in_range >= sums.total
                                 ? 1.0
                                 : static_cast<double>(in_range) / static_cast<double>(sums.total);
        AddSummaryShare(sums.summary, share, &type.summary);
      }
    }
    std::ranges::stable_sort(out_.types, {}, [&](const auto& t) { return !IsCpu(t.type); });
    for (size_t i = 0; i < out_.types.size(); ++i)
      if (tables_.strings[tables_.types[out_.types[i].type].type] == question_.type) out_.type = i;
  }

  int64_t TotalInRange(const PageIndex& index, uint32_t type) const {
    int64_t total = 0;
    for (const PageClass& of : index.classes())
      if (of.type == type)
        index.EachSecond(of.activity, [&](int64_t second, int64_t value) {
          if (range_.Has(second)) total = SaturatingAdd(total, value);
        });
    return total;
  }

  // Of all filters but those of processes, threads and waits.
  bool ClassPasses(uint32_t process) const {
    const ViewProcess& p = tables_.processes[process];
    const auto passes = [&](const PageQuestion::Texts& chosen, uint32_t text) {
      return chosen.empty() || chosen.contains(tables_.strings[text]);
    };
    return passes(question_.commands, p.command) && passes(question_.containers, p.container) &&
           passes(question_.services, p.service) && passes(question_.cgroups, p.cgroup) &&
           passes(question_.users, p.user);
  }

  OfThread& Known(uint32_t thread) {
    if (thread >= of_threads_.size()) of_threads_.resize(tables_.threads.items().size());
    OfThread& of = of_threads_[thread];
    if (of.known) return of;
    of.known = true;
    const uint32_t process = tables_.threads[thread].process;
    of.passes = ClassPasses(process);
    // Keys are made only where they are asked for.
    if (of.passes && !question_.processes.empty())
      of.passes = question_.processes.contains(store_.ProcessKeyOf(process));
    if (of.passes && !question_.threads.empty())
      of.passes = question_.threads.contains(store_.ThreadKeyOf(thread));
    return of;
  }

  uint32_t GroupOf(uint32_t thread) {
    if (thread >= group_of_.size()) group_of_.resize(tables_.threads.items().size(), kNoId);
    uint32_t& group = group_of_[thread];
    if (group != kNoId) return group;
    return group = GroupNamed(store_.GroupLabel(thread, question_.grouping));
  }
  uint32_t GroupNamed(const std::string& label) {
    const auto [place, fresh] =
        groups_.try_emplace(label, static_cast<uint32_t>(out_.groups.size()));
    if (fresh) out_.groups.push_back(label);
    return place->second;
  }

  // Masks may say nothing of an index that has more types of frames than anybody knows.
  bool HasClassSums(const PageIndex& index) const {
    return by_class_ && (question_.hidden.empty() || index.has_masks());
  }

  void Take(const PageIndex& index) {
    const uint32_t type = out_.types[out_.type].type;
    const int64_t factor = Factor(index, type);
    for (const PageRoot& root : index.roots())
      if (root.type == type) Count(index, root, factor);
    if (by_class_)
      for (const PageClass& of : index.classes())
        if (of.type == type && Passes(of)) AddToTimeline(index, of.activity, factor);
    if (!chosen_.Meets(index)) return;
    if (!chosen_.Covers(index)) {
      out_.cut.push_back(index.Cut(chosen_.from, chosen_.to));
      return TakeThreads(*out_.cut.back(), type, factor, false);
    }
    const bool has_sums = HasClassSums(index);
    if (has_sums) TakeClasses(index, type, factor);
    if (!has_sums || !draws_classes_) TakeThreads(index, type, factor, has_sums);
  }

  void TakeThreads(const PageIndex& index, uint32_t type, int64_t factor, bool summed) {
    for (const PageRoot& root : index.roots()) {
      if (root.type != type || !Passes(root)) continue;
      out_.trees.push_back({.index = &index,
                            .tree = root.tree,
                            .of_class = nullptr,
                            .factor = factor,
                            .group = GroupOf(root.thread),
                            .summed = summed,
                            .process = tables_.threads[root.thread].process});
      out_.passing = SaturatingAdd(out_.passing, SaturatingMultiply(root.total, factor));
    }
  }

  void TakeClasses(const PageIndex& index, uint32_t type, int64_t factor) {
    for (const PageClass& of : index.classes()) {
      if (of.type != type || !Passes(of)) continue;
      out_.classes.push_back({&index, &of, factor});
      if (!draws_classes_) continue;
      const bool bare = hides_native_ && of.bare.at != of.bare.end;
      out_.trees.push_back(
          {.index = &index,
           .tree = bare ? of.bare : of.tree,
           .of_class = &of,
           .factor = factor,
           .group = GroupNamed(store_.ClassGroupLabel(of.process, question_.grouping)),
           .bare = bare,
           .summed = true});
      out_.passing = SaturatingAdd(out_.passing, SaturatingMultiply(of.total, factor));
    }
  }

  bool WaitPasses(uint32_t wait) const {
    return question_.waits.empty() || question_.waits.contains(tables_.strings[wait]);
  }
  bool Passes(const PageRoot& root) { return Known(root.thread).passes && WaitPasses(root.wait); }
  bool Passes(const PageClass& of) const { return ClassPasses(of.process) && WaitPasses(of.wait); }

  void AddToTimeline(const PageIndex& index, std::string_view activity, int64_t factor) {
    index.EachSecond(activity, [&](int64_t second, int64_t value) {
      if (!range_.Has(second)) return;
      int64_t& sum = out_.timeline[BucketOf(second)];
      sum = SaturatingAdd(sum, SaturatingMultiply(value, factor));
    });
  }
  size_t BucketOf(int64_t second) const {
    return static_cast<size_t>((second - range_.from) * 1000 / out_.bucket_ms);
  }

  // Lists, lanes and, where threads are told apart, the timeline.
  void Count(const PageIndex& index, const PageRoot& root, int64_t factor) {
    const bool passes = Passes(root);
    if (passes && !by_class_) AddToTimeline(index, root.activity, factor);
    if (question_.lanes && WaitPasses(root.wait)) AddLane(index, root, factor);
    int64_t chosen = 0;
    if (chosen_.Covers(index)) {
      chosen = SaturatingMultiply(root.total, factor);
    } else if (chosen_.Meets(index)) {
      index.EachSecond(root.activity, [&](int64_t second, int64_t value) {
        if (chosen_.Has(second)) chosen = SaturatingAdd(chosen, SaturatingMultiply(value, factor));
      });
    }
    if (chosen == 0) return;
    choices_.AddThread(root.thread, chosen);
    if (Known(root.thread).passes) choices_.AddWait(root.wait, chosen);
  }

  void AddLane(const PageIndex& index, const PageRoot& root, int64_t factor) {
    OfThread& of = Known(root.thread);
    index.EachSecond(root.activity, [&](int64_t second, int64_t value) {
      if (!range_.Has(second)) return;
      value = SaturatingMultiply(value, factor);
      const size_t bucket = BucketOf(second);
      if (of.lane.empty() || of.lane.back().first != bucket)
        of.lane.emplace_back(static_cast<uint32_t>(bucket), 0);
      of.lane.back().second = SaturatingAdd(of.lane.back().second, value);
      if (chosen_.Has(second)) of.lane_sum = SaturatingAdd(of.lane_sum, value);
    });
  }

  void Lanes() {
    std::vector<ThreadTime> times;
    for (uint32_t thread = 0; thread < of_threads_.size(); ++thread) {
      OfThread& of = of_threads_[thread];
      if (!of.lane.empty()) times.push_back({thread, of.lane_sum, std::move(of.lane)});
    }
    out_.lanes = LanesOf(store_, std::move(times));
  }

  const PageStore& store_;
  const PageTables& tables_;
  const PageQuestion& question_;
  PageChoices choices_;
  const bool by_class_;       // No filter tells threads apart.
  const bool draws_classes_;  // And neither does the grouping.
  const bool hides_native_;   // All of it.
  PageSelection out_;
  Seconds range_, chosen_;
  std::vector<OfThread> of_threads_;
  std::vector<uint32_t> group_of_;
  absl::flat_hash_map<std::string, uint32_t> groups_;
};

}  // namespace

PageSelection Select(const PageStore& store, const PageQuestion& question) {
  return Selector(store, question).Run();
}

}  // namespace stackray
