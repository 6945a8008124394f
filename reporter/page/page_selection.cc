#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "profile/sample_types.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_lanes.h"
#include "reporter/page/page_store.h"

namespace stackray {
namespace {

constexpr const SampleType& kCpu = kSampleTypes[static_cast<size_t>(SampleOrigin::kCpuClock)];
constexpr int64_t kMostBuckets = 240;

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
      : store_(store), tables_(store.tables()), question_(question) {
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
    Finish();
    return std::move(out_);
  }

 private:
  struct OfThread {  // What is known of a thread once it was asked for.
    bool known = false, passes = false;
    uint32_t group = 0;
    int64_t chosen = 0;  // In the chosen time, of the type, whatever the filter says.
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
        AddSummary(sums.summary, share, &type.summary);
      }
    }
    std::ranges::stable_sort(out_.types, {}, [&](const auto& t) { return !IsCpu(t.type); });
    for (size_t i = 0; i < out_.types.size(); ++i)
      if (tables_.strings[tables_.types[out_.types[i].type].type] == question_.type) out_.type = i;
  }

  int64_t TotalInRange(const PageIndex& index, uint32_t type) const {
    int64_t total = 0;
    for (const PageRoot& root : index.roots())
      if (root.type == type)
        index.EachSecond(root, [&](int64_t second, int64_t value) {
          if (range_.Has(second)) total = SaturatingAdd(total, value);
        });
    return total;
  }

  // Of an index that lies partly in the range, its part.
  static void AddSummary(const ProfileSummary& from, double share, ProfileSummary* to) {
    const auto part = [&](int64_t number) {
      return share >= 1 ? number : std::llround(static_cast<double>(number) * share);
    };
    to->type = from.type;
    to->unit = from.unit;
    for (int64_t ProfileSummary::*const field :
         {&ProfileSummary::samples, &ProfileSummary::value, &ProfileSummary::lost,
          &ProfileSummary::outside, &ProfileSummary::user_stacks, &ProfileSummary::complete,
          &ProfileSummary::through_unknown, &ProfileSummary::user_frames,
          &ProfileSummary::user_named, &ProfileSummary::kernel_frames,
          &ProfileSummary::kernel_named})
      to->*field = SaturatingAdd(to->*field, int64_t{part(from.*field)});
    int64_t jit = part(from.unnamed.frames(NoName::kJit));
    for (const auto& [command, frames] : from.unnamed.jit_commands()) {
      to->unnamed.Add(NoName::kJit, std::min<int64_t>(part(frames), jit), command);
      jit -= std::min<int64_t>(jit, part(frames));
    }
    to->unnamed.Add(NoName::kJit, jit, "");
    for (size_t i = 0; i < kNoNameKinds; ++i)
      if (static_cast<NoName>(i) != NoName::kJit)
        to->unnamed.Add(static_cast<NoName>(i), part(from.unnamed.frames(static_cast<NoName>(i))),
                        "");
  }

  OfThread& Known(uint32_t thread) {
    if (thread >= of_threads_.size()) of_threads_.resize(tables_.threads.items().size());
    OfThread& of = of_threads_[thread];
    if (of.known) return of;
    of.known = true;
    const uint32_t process = tables_.threads[thread].process;
    const ViewProcess& p = tables_.processes[process];
    const auto passes = [](const PageQuestion::Texts& chosen, std::string_view text) {
      return chosen.empty() || chosen.contains(text);
    };
    of.passes = passes(question_.containers, tables_.strings[p.container]) &&
                passes(question_.services, tables_.strings[p.service]);
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
    const std::string label = store_.GroupLabel(thread, question_.grouping);
    const auto [place, fresh] =
        groups_.try_emplace(label, static_cast<uint32_t>(out_.groups.size()));
    if (fresh) out_.groups.push_back(label);
    return group = place->second;
  }

  void Take(const PageIndex& index) {
    const uint32_t type = out_.types[out_.type].type;
    const int64_t factor = Factor(index, type);
    const PageIndex* trees = &index;
    if (!chosen_.Covers(index)) {
      out_.cut.push_back(chosen_.Meets(index) ? index.Cut(chosen_.from, chosen_.to) : nullptr);
      trees = out_.cut.back().get();
    }
    for (const PageRoot& root : index.roots())
      if (root.type == type) Count(index, root, factor);
    if (trees == nullptr) return;
    bool all = trees == &index;
    for (const PageRoot& root : trees->roots()) {
      if (root.type != type) continue;
      const bool passes = Passes(root);
      all &= passes;
      if (!passes) continue;
      out_.trees.push_back({trees, &root, factor, GroupOf(root.thread)});
      out_.passing = SaturatingAdd(out_.passing, SaturatingMultiply(root.total, factor));
    }
    if (all) out_.whole.insert(trees);
  }

  bool Passes(const PageRoot& root) {
    return Known(root.thread).passes &&
           (question_.waits.empty() || question_.waits.contains(tables_.strings[root.wait]));
  }

  // Timeline, lists and lanes.
  void Count(const PageIndex& index, const PageRoot& root, int64_t factor) {
    OfThread& of = Known(root.thread);
    const bool passes = Passes(root);
    const bool of_wait =
        question_.waits.empty() || question_.waits.contains(tables_.strings[root.wait]);
    int64_t chosen = 0, lane = 0;
    index.EachSecond(root, [&](int64_t second, int64_t value) {
      if (!range_.Has(second)) return;
      value = SaturatingMultiply(value, factor);
      const auto bucket = static_cast<size_t>((second - range_.from) * 1000 / out_.bucket_ms);
      if (passes) out_.timeline[bucket] = SaturatingAdd(out_.timeline[bucket], value);
      const bool in = chosen_.Has(second);
      if (in) chosen = SaturatingAdd(chosen, value);
      if (!question_.lanes || !of_wait) return;
      if (of.lane.empty() || of.lane.back().first != bucket)
        of.lane.emplace_back(static_cast<uint32_t>(bucket), 0);
      of.lane.back().second = SaturatingAdd(of.lane.back().second, value);
      if (in) lane = SaturatingAdd(lane, value);
    });
    of.chosen = SaturatingAdd(of.chosen, chosen);
    of.lane_sum = SaturatingAdd(of.lane_sum, lane);
    if (chosen > 0 && Known(root.thread).passes)
      waits_[root.wait] = SaturatingAdd(waits_[root.wait], chosen);
  }

  // The lists, each with what the chosen time has.
  void Finish() {
    for (uint32_t thread = 0; thread < of_threads_.size(); ++thread)
      if (of_threads_[thread].known) List(thread);
    for (auto& [key, choice] : processes_) out_.processes.push_back(std::move(choice));
    for (auto& [key, choice] : containers_) out_.containers.push_back(std::move(choice));
    for (auto& [key, choice] : services_) out_.services.push_back(std::move(choice));
    if (out_.containers.size() < 2) out_.containers.clear();
    if (out_.services.size() < 2) out_.services.clear();
    const bool knows_waits =
        std::ranges::any_of(waits_, [](const auto& wait) { return wait.first != 0; });
    for (const auto& [wait, count] : waits_)
      if (knows_waits) out_.waits.push_back({std::string(tables_.strings[wait]), "", "", count});
    if (question_.lanes) Lanes();
  }

  void List(uint32_t thread) {
    const OfThread& of = of_threads_[thread];
    const uint32_t process = tables_.threads[thread].process;
    const ViewProcess& p = tables_.processes[process];
    const std::string key = store_.ProcessKeyOf(process);
    Add(&processes_, key, of.chosen, [&](PageSelection::Choice& choice) {
      choice.label = store_.ProcessLabel(process);
      choice.note = tables_.strings[p.executable];
      if (p.container != 0)
        AppendAll(&choice.note, " in container ", tables_.strings[p.container].substr(0, 12));
    });
    for (auto [list, text] : {std::pair(&containers_, p.container), {&services_, p.service}})
      Add(list, std::string(tables_.strings[text]), of.chosen, [](PageSelection::Choice&) {});
    if (!question_.processes.empty() && !question_.processes.contains(key)) return;
    const std::string process_label = store_.ProcessLabel(process);
    PageSelection::Choice choice{.key = store_.ThreadKeyOf(thread), .count = of.chosen};
    choice.label = tables_.threads[thread].tid == 0 ? Concat("whole process ", process_label)
                                                    : store_.ThreadLabel(thread);
    choice.note = Concat("of ", process_label);
    if (of.chosen > 0) out_.threads.push_back(std::move(choice));
  }

  using Choices = absl::flat_hash_map<std::string, PageSelection::Choice>;
  template <typename F>
  static void Add(Choices* list, const std::string& key, int64_t count, F&& describe) {
    if (count == 0) return;
    const auto [place, fresh] = list->try_emplace(key);
    PageSelection::Choice& choice = place->second;
    if (fresh) {
      choice.key = choice.label = key;
      describe(choice);
    }
    choice.count = SaturatingAdd(choice.count, count);
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
  PageSelection out_;
  Seconds range_, chosen_;
  std::vector<OfThread> of_threads_;
  std::vector<uint32_t> group_of_;
  absl::flat_hash_map<std::string, uint32_t> groups_;
  std::map<uint32_t, int64_t> waits_;
  Choices processes_, containers_, services_;
};

}  // namespace

PageSelection Select(const PageStore& store, const PageQuestion& question) {
  return Selector(store, question).Run();
}

}  // namespace stackray
