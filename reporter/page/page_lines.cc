#include "reporter/page/page_lines.h"

#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_class.h"
#include "reporter/page/page_scan.h"

namespace stackray {
namespace {

class LineSummer {
 public:
  LineSummer(const PageStore& store, const std::vector<bool>& hidden,
             const std::vector<uint32_t>& functions, const std::stop_token& stop)
      : store_(store), hidden_(hidden), stop_(stop), wanted_(hidden.size()) {
    for (const uint32_t function : functions)
      if (!hidden[function]) wanted_[function] = true;
  }

  void Take(const SelectedTree& tree) {
    if (tree.of_class != nullptr)
      TakeClass(tree);
    else
      Scan(tree);
  }

  std::vector<PageLine> Lines() && { return std::move(lines_); }

 private:
  // A shown frame on the present way, and its line where that is wanted.
  struct Open {
    size_t line = kNone;
    bool shown = false;
  };
  static constexpr size_t kNone = SIZE_MAX;

  void TakeClass(const SelectedTree& tree) {
    if (last_ != tree.index) {
      last_ = tree.index;
      mask_ = tree.index->MaskOf(hidden_, store_.tables());
    }
    const auto times = [&](int64_t value) { return SaturatingMultiply(value, tree.factor); };
    const ClassFunctions functions(tree.of_class->sums);
    for (size_t i = 0; i < functions.size(); ++i) {
      const uint32_t function = tree.index->FunctionAt(functions.function(i), /*of_class=*/true);
      if (!wanted_[function]) continue;
      EachClassLine(functions[i].lines, [&](const ClassLine& line) {
        const PageFrame frame = tree.index->frame(line.frame);
        PageLine& sums = lines_[LineAt(frame)];
        sums.total = SaturatingAdd(sums.total, times(line.total));
        sums.self = SaturatingAdd(sums.self, times(SelfWithout(line.self, line.masks, mask_)));
      });
    }
  }

  void Scan(const SelectedTree& tree) {
    std::vector<Open> way;
    const auto enter = [&](const TreePlace& place, uint32_t number, int64_t self) {
      const PageFrame frame = tree.index->frame(number);
      Open& open = way.emplace_back();
      open.shown = !hidden_[frame.function];
      if (wanted_[frame.function]) {
        open.line = LineAt(frame);
        if (open_[open.line]++ == 0)
          lines_[open.line].total =
              SaturatingAdd(lines_[open.line].total, SaturatingMultiply(place.total, tree.factor));
      }
      if (self != 0) TakeSelf(way, SaturatingMultiply(self, tree.factor));
      return true;
    };
    const auto leave = [&](uint32_t) {
      if (way.back().line != kNone) --open_[way.back().line];
      way.pop_back();
    };
    WalkTree(tree.tree, stop_, enter, leave);
  }

  // It is the innermost shown frame's.
  void TakeSelf(const std::vector<Open>& way, int64_t value) {
    for (size_t i = way.size(); i-- > 0;) {
      if (!way[i].shown) continue;
      if (way[i].line != kNone)
        lines_[way[i].line].self = SaturatingAdd(lines_[way[i].line].self, value);
      return;
    }
  }

  size_t LineAt(const PageFrame& frame) {
    const auto [at, fresh] =
        place_of_.try_emplace({frame.function, frame.source, frame.line}, lines_.size());
    if (fresh) {
      lines_.push_back({frame.function, frame.source, frame.line});
      open_.push_back(0);
    }
    return at->second;
  }

  const PageStore& store_;
  const std::vector<bool>& hidden_;
  const std::stop_token& stop_;
  std::vector<bool> wanted_;  // By function.
  const PageIndex* last_ = nullptr;
  TypeMask mask_ = 0;  // Of last_.
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> place_of_;
  std::vector<PageLine> lines_;
  std::vector<uint32_t> open_;  // How often each of them is on the present way.
};

}  // namespace

std::vector<PageLine> LinesOf(const PageStore& store, const PageSelection& selection,
                              const std::vector<bool>& hidden,
                              const std::vector<uint32_t>& functions, const std::stop_token& stop) {
  LineSummer summer(store, hidden, functions, stop);
  for (const SelectedTree& tree : selection.trees) {
    if (stop.stop_requested()) break;
    summer.Take(tree);
  }
  return std::move(summer).Lines();
}

}  // namespace stackray
