#include "reporter/page/page_scan.h"

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
         const std::vector<bool>& matching, const std::stop_token& stop)
      : selection_(selection), hidden_(hidden), matching_(matching), stop_(stop) {
    const auto& functions = store.tables().functions.items();
    out_.functions.resize(functions.size());
    out_.type_selfs.resize(functions.size());
    open_.resize(functions.size());
    for (const PageFunction& function : functions)
      marker_.push_back(store.tables().strings[function.type] == kMarkerFrameType);
    hides_ = std::ranges::find(hidden, true) != hidden.end();
  }

  PageFunctionSums Run() {
    const PageIndex* last = nullptr;
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) break;
      const bool stored = !hides_ && matching_.empty() && selection_.whole.contains(tree.index);
      if (!stored)
        Scan(tree);
      else if (last != tree.index)
        TakeStored(tree);
      last = tree.index;
    }
    return std::move(out_);
  }

 private:
  void TakeStored(const SelectedTree& tree) {
    for (const PageTypeSums& type : tree.index->types()) {
      if (type.type != tree.root->type) continue;
      const int64_t marked =
          tree.index->EachFunction(type, [&](uint32_t function, int64_t self, int64_t total) {
            Increase(&out_.functions[function].self, self, tree.factor);
            Increase(&out_.functions[function].total, total, tree.factor);
            Increase(&out_.type_selfs[function], self, tree.factor);
          });
      Increase(&out_.marked, marked, tree.factor);
    }
  }

  void Scan(const SelectedTree& tree) {
    shown_.clear();
    uint32_t open_markers = 0, open_matches = 0;
    const auto function_of = [&](uint32_t frame) { return tree.index->frame(frame).function; };
    WalkTree(
        tree.root->tree, stop_,
        [&](const TreePlace& place, uint32_t frame, int64_t self) {
          const uint32_t function = function_of(frame);
          Increase(&out_.type_selfs[function], self, tree.factor);
          if (marker_[function] && open_markers++ == 0)
            Increase(&out_.marked, place.total, tree.factor);
          if (hidden_[function]) {
            TakeSelf(self, tree.factor);
            return true;
          }
          if (!matching_.empty() && matching_[function] && open_matches++ == 0)
            Increase(&out_.matched, place.total, tree.factor);
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
          open_matches -= !matching_.empty() && matching_[function] ? 1 : 0;
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

  const PageSelection& selection_;
  const std::vector<bool>& hidden_;
  const std::vector<bool>& matching_;
  const std::stop_token& stop_;
  bool hides_ = false;
  std::vector<bool> marker_;
  std::vector<uint32_t> open_;   // How often each function is on the present way.
  std::vector<uint32_t> shown_;  // The functions of that way that are not hidden.
  PageFunctionSums out_;
};

}  // namespace

PageFunctionSums SumFunctions(const PageStore& store, const PageSelection& selection,
                              const std::vector<bool>& hidden, const std::vector<bool>& matching,
                              const std::stop_token& stop) {
  return Summer(store, selection, hidden, matching, stop).Run();
}

}  // namespace stackray
