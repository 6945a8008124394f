#include "reporter/page/page_scan.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_keys.h"

namespace stackray {

std::vector<bool> HiddenFunctions(const PageTables& tables, const PageQuestion::Texts& hidden) {
  std::vector<bool> out(tables.functions.items().size());
  if (hidden.empty()) return out;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = hidden.contains(PageTypeText(tables, tables.functions.items()[i]));
  return out;
}

namespace {

void Increase(int64_t* sum, int64_t value, int64_t factor) {
  *sum = SaturatingAdd(*sum, SaturatingMultiply(value, factor));
}

class Summer {
 public:
  Summer(const PageStore& store, const PageSelection& selection, const std::vector<bool>& hidden,
         const std::stop_token& stop)
      : tables_(store.tables()), selection_(selection), hidden_(hidden), stop_(stop) {
    const auto& functions = store.tables().functions.items();
    out_.functions.resize(functions.size());
    out_.type_selfs.resize(functions.size());
    open_.resize(functions.size());
    for (const PageFunction& function : functions)
      marker_.push_back(store.tables().strings[function.type] == kMarkerFrameType);
  }

  PageFunctionSums Run() {
    for (const SelectedClass& of : selection_.classes) {
      if (stop_.stop_requested()) break;
      TakeClass(of);
    }
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) break;
      if (!tree.summed) Scan(tree);
    }
    return std::move(out_);
  }

 private:
  void TakeClass(const SelectedClass& of) {
    if (mask_of_ != of.index) {
      mask_of_ = of.index;
      mask_ = of.index->MaskOf(hidden_, tables_);
    }
    const ClassFunctions functions(of.of->sums);
    Increase(&out_.marked, functions.marked(), of.factor);
    int64_t with_frames = 0, visible = 0;
    for (size_t i = 0; i < functions.size(); ++i) {
      const ClassFunction f = functions[i];
      const uint32_t function = of.index->function(f.function);
      Increase(&out_.type_selfs[function], f.self, of.factor);
      with_frames = SaturatingAdd(with_frames, f.self);
      if (hidden_[function]) continue;
      const int64_t self = SelfWithout(f.self, f.masks, mask_);
      visible = SaturatingAdd(visible, self);
      Increase(&out_.functions[function].self, self, of.factor);
      Increase(&out_.functions[function].total, f.total, of.factor);
    }
    Increase(&out_.hidden_whole, std::max<int64_t>(with_frames - visible, 0), of.factor);
  }

  void Scan(const SelectedTree& tree) {
    shown_.clear();
    uint32_t open_markers = 0;
    const auto function_of = [&](uint32_t number) { return tree.FunctionAt(number); };
    WalkTree(
        tree.tree, stop_,
        [&](const TreePlace& place, uint32_t frame, int64_t self) {
          const uint32_t function = function_of(frame);
          Increase(&out_.type_selfs[function], self, tree.factor);
          if (marker_[function] && open_markers++ == 0)
            Increase(&out_.marked, place.total, tree.factor);
          if (hidden_[function]) {
            TakeSelf(self, tree.factor);
            return true;
          }
          shown_.push_back(function);
          TakeSelf(self, tree.factor);
          if (open_[function]++ == 0)
            Increase(&out_.functions[function].total, place.total, tree.factor);
          return true;
        },
        [&](uint32_t frame) {
          const uint32_t function = function_of(frame);
          open_markers -= marker_[function] ? 1 : 0;
          if (hidden_[function]) return;
          --open_[function];
          shown_.pop_back();
        });
    for (const uint32_t function : shown_) open_[function] = 0;  // It was stopped.
  }

  // Values of hidden frames belong to their caller.
  void TakeSelf(int64_t self, int64_t factor) {
    if (self == 0) return;
    Increase(shown_.empty() ? &out_.hidden_whole : &out_.functions[shown_.back()].self, self,
             factor);
  }

  const PageTables& tables_;
  const PageSelection& selection_;
  const std::vector<bool>& hidden_;
  const std::stop_token& stop_;
  const PageIndex* mask_of_ = nullptr;  // The index that mask_ is of.
  TypeMask mask_ = 0;
  std::vector<bool> marker_;
  std::vector<uint32_t> open_;   // How often each function is on the present way.
  std::vector<uint32_t> shown_;  // The functions of that way that are not hidden.
  PageFunctionSums out_;
};

// Each stack once, where it meets the first matching function.
class Matcher {
 public:
  Matcher(const PageSelection& selection, const std::vector<bool>& matching,
          const std::stop_token& stop)
      : selection_(selection), matching_(matching), stop_(stop) {}

  int64_t Run() {
    for (const SelectedClass& of : selection_.classes) {
      if (stop_.stop_requested()) break;
      TakeClass(of);
    }
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) break;
      if (tree.summed) continue;
      Walk(
          tree.tree, tree.factor, [&](uint32_t number) { return tree.FunctionAt(number); },
          AllPlaces());
    }
    return matched_;
  }

 private:
  static constexpr size_t kManyPlaces = 8;

  // A walk to the places of few functions reads little; one that ends at many functions does, too.
  void TakeClass(const SelectedClass& of) {
    const ClassFunctions functions(of.of->sums);
    std::vector<ClassFunction> matches;
    for (size_t i = 0; i < functions.size(); ++i)
      if (matching_[of.index->function(functions.function(i))]) matches.push_back(functions[i]);
    if (matches.empty()) return;
    if (matches.size() == 1) return Increase(&matched_, matches[0].total, of.factor);
    size_t bytes = 0;
    for (const ClassFunction& f : matches) bytes += f.places.size();
    const TreePlace& tree = of.of->tree;
    const auto function_at = [&](uint32_t number) { return of.index->function(number); };
    if (bytes > static_cast<size_t>(tree.end - tree.at) / kManyPlaces)
      return Walk(tree, of.factor, function_at, AllPlaces());
    std::vector<uint64_t> places;
    for (const ClassFunction& f : matches)
      EachPlace(f.places, [&](uint64_t place) { places.push_back(place); });
    Walk(tree, of.factor, function_at, PlacesBelow(tree.at, std::move(places)));
  }

  template <typename FunctionAt, typename Wanted>
  void Walk(const TreePlace& tree, int64_t factor, FunctionAt&& function_at, Wanted&& wanted) {
    WalkTree(
        tree, stop_,
        [&](const TreePlace& place, uint32_t number, int64_t) {
          if (!matching_[function_at(number)]) return true;
          Increase(&matched_, place.total, factor);
          return false;
        },
        [](uint32_t) {}, std::forward<Wanted>(wanted));
  }

  const PageSelection& selection_;
  const std::vector<bool>& matching_;
  const std::stop_token& stop_;
  int64_t matched_ = 0;
};

}  // namespace

PageFunctionSums SumFunctions(const PageStore& store, const PageSelection& selection,
                              const std::vector<bool>& hidden, const std::stop_token& stop) {
  return Summer(store, selection, hidden, stop).Run();
}

int64_t SumMatched(const PageSelection& selection, const std::vector<bool>& matching,
                   const std::stop_token& stop) {
  return Matcher(selection, matching, stop).Run();
}

}  // namespace stackray
