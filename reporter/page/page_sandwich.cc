#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_answer_parts.h"
#include "reporter/page/page_merge.h"
#include "reporter/page/page_scan.h"
#include "reporter/page/page_tree.h"
#include "reporter/page/page_ways.h"

namespace stackray {
namespace {

class SandwichMaker {
 public:
  SandwichMaker(const PageStore& store, const PageSelection& selection, const PageShape& shape,
                uint32_t function, const std::stop_token& stop)
      : store_(store), selection_(selection), shape_(shape), function_(function), stop_(stop) {}

  PageSandwich Make() {
    for (const SelectedTree& tree : selection_.trees) {
      if (stop_.stop_requested()) break;
      if (tree.of_class != nullptr)
        TakeClass(tree);
      else
        Scan(tree);
    }
    PageSandwich out;
    const auto item = static_cast<int32_t>(function_);
    PageShape whole{.hidden = shape_.hidden, .fold = shape_.fold, .width = shape_.width};
    out.callers = callers_.Tree(item, whole, [](int32_t, uint64_t) { return uint64_t{0}; });
    PageMerge::Group group{.item = item, .cursors = std::move(outermost_), .total = total_};
    PageMerge(whole, {}, stop_).Draw({std::move(group)}, -1, whole.Least(total_), &out.callees);
    if (out.callees.item.empty()) out.callees.Add(item, -1, 0);
    // Its own values in all its calls, also those from itself: the table has equal numbers.
    out.callers.self[0] = out.callees.self[0] = self_;
    for (const auto& [place, sums] : lines_)
      out.lines.push_back({place.first, place.second, sums.self, sums.total});
    return out;
  }

 private:
  struct LineSums {
    int64_t self = 0, total = 0;
    uint32_t open = 0;  // How often it is on the present way.
  };

  // The class knows the sums and where its calls lie; ways lead there.
  void TakeClass(const SelectedTree& tree) {
    if (shape_.hidden[function_]) return;
    if (last_ != tree.index) {
      last_ = tree.index;
      own_number_ = tree.index->FindFunction(function_);
      mask_ = tree.index->MaskOf(shape_.hidden, store_.tables());
    }
    if (!own_number_) return;
    const std::optional<ClassFunction> found =
        ClassFunctions(tree.of_class->sums).Find(*own_number_);
    if (!found) return;
    const auto times = [&](int64_t value) { return SaturatingMultiply(value, tree.factor); };
    self_ = SaturatingAdd(self_, times(SelfWithout(found->self, found->masks, mask_)));
    EachClassLine(found->lines, [&](const ClassLine& line) {
      const PageFrame frame = tree.index->frame(line.frame);
      LineSums& sums = lines_[{frame.source, frame.line}];
      sums.total = SaturatingAdd(sums.total, times(line.total));
      sums.self = SaturatingAdd(sums.self, times(SelfWithout(line.self, line.masks, mask_)));
    });
    std::vector<uint64_t> places;
    EachPlace(found->places, [&](uint64_t place) { places.push_back(place); });
    ShownWay way(shape_);
    const TreePlace& whole = tree.of_class->tree;
    WalkTree(
        whole, stop_,
        [&](const TreePlace& place, uint32_t number, int64_t) {
          way.Enter(tree.FunctionAt(number));
          if (tree.FunctionAt(number) != function_) return true;
          AddOutermost(tree, place, way);
          return false;
        },
        [&](uint32_t) { way.Leave(); }, PlacesBelow(whole.at, std::move(places)));
  }

  void AddOutermost(const SelectedTree& tree, const TreePlace& place, const ShownWay& way) {
    outermost_.push_back({&tree, place});
    const int64_t value = SaturatingMultiply(place.total, tree.factor);
    total_ = SaturatingAdd(total_, value);
    callers_.Add(
        callers_.Outwards(way.way(), way.way().size() - 1, GroupItem(selection_, tree.group)),
        value);
  }

  void Scan(const SelectedTree& tree) {
    ShownWay way(shape_);
    uint32_t open = 0;           // Calls of the function that are open.
    std::vector<LineSums*> own;  // Lines of the open ones.
    const auto enter = [&](const TreePlace& place, uint32_t frame_number, int64_t self) {
      const PageFrame frame = tree.index->frame(frame_number);
      way.Enter(frame.function);
      const bool is_it = frame.function == function_ && !shape_.hidden[frame.function];
      own.push_back(nullptr);
      if (is_it) {
        LineSums& line = lines_[{frame.source, frame.line}];
        own.back() = &line;
        if (line.open++ == 0)
          line.total = SaturatingAdd(line.total, SaturatingMultiply(place.total, tree.factor));
        if (open++ == 0) AddOutermost(tree, place, way);
      }
      TakeSelf(way, own, self, tree.factor);
      return true;
    };
    const auto leave = [&](uint32_t) {
      if (own.back() != nullptr) {
        --own.back()->open;
        --open;
      }
      own.pop_back();
      way.Leave();
    };
    WalkTree(tree.tree, stop_, enter, leave);
  }

  // What is the function's own: also what its hidden callees have.
  void TakeSelf(const ShownWay& way, const std::vector<LineSums*>& own, int64_t self,
                int64_t factor) {
    if (self == 0 || way.way().empty() || way.way().back() != function_) return;
    const int64_t value = SaturatingMultiply(self, factor);
    self_ = SaturatingAdd(self_, value);
    for (size_t i = own.size(); i-- > 0;) {
      if (own[i] == nullptr) continue;
      own[i]->self = SaturatingAdd(own[i]->self, value);
      return;
    }
  }

  const PageStore& store_;
  const PageSelection& selection_;
  const PageShape& shape_;
  const uint32_t function_;
  const std::stop_token& stop_;
  const PageIndex* last_ = nullptr;  // What is known of this one:
  std::optional<uint32_t> own_number_;
  TypeMask mask_ = 0;
  PageWays callers_;
  std::vector<PageCursor> outermost_;
  int64_t self_ = 0, total_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, LineSums> lines_;
};

}  // namespace

PageSandwich BuildSandwich(const PageStore& store, const PageSelection& selection,
                           const PageShape& shape, uint32_t function, const std::stop_token& stop) {
  return SandwichMaker(store, selection, shape, function, stop).Make();
}

namespace {

constexpr size_t kMostProcesses = 64;

bool HasFunction(const SelectedTree& tree, uint32_t function) {
  bool found = false;
  WalkTree(
      tree.tree, {},
      [&](const TreePlace&, uint32_t number, int64_t) {
        found = found || tree.FunctionAt(number) == function;
        return !found;
      },
      [](uint32_t) {});
  return found;
}

// Of one class, but for the type and the wait of its samples.
bool AreAlike(const ViewProcess& a, const ViewProcess& b) {
  return a.command == b.command && a.container == b.container && a.cgroup == b.cgroup &&
         a.user == b.user && a.service == b.service;
}

}  // namespace

std::vector<PageProcess> ProcessesWith(const PageTables& tables, const PageSelection& selection,
                                       uint32_t function) {
  std::set<uint32_t> examples, all;
  for (const SelectedClass& of : selection.classes) {
    const std::optional<uint32_t> own = of.index->FindFunction(function);
    if (own && ClassFunctions(of.of->sums).Find(*own)) examples.insert(of.of->process);
  }
  for (const SelectedTree& tree : selection.trees)
    if (!tree.summed && !all.contains(tree.process) && HasFunction(tree, function))
      all.insert(tree.process);
  for (const uint32_t example : examples)
    for (uint32_t i = 0; i < tables.processes.items().size(); ++i)
      if (AreAlike(tables.processes[i], tables.processes[example])) all.insert(i);
  std::vector<PageProcess> out;
  for (auto process = all.rbegin(); process != all.rend() && out.size() < kMostProcesses; ++process)
    if (const ViewProcess& p = tables.processes[*process]; p.pid > 0)
      out.push_back({p.pid, std::string(tables.strings[p.command])});
  return out;
}

}  // namespace stackray
