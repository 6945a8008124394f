#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"
#include "reporter/page/page_answer_parts.h"
#include "reporter/page/page_lines.h"
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
    if (!shape_.hidden[function_])
      for (const SelectedTree& tree : selection_.trees) {
        if (stop_.stop_requested()) break;
        if (tree.of_class != nullptr)
          TakeClass(tree);
        else
          TakeCalls(tree, tree.tree, AllPlaces());
      }
    PageSandwich out;
    const auto item = static_cast<int32_t>(function_);
    PageShape whole{.hidden = shape_.hidden, .fold = shape_.fold, .width = shape_.width};
    out.callers = callers_.Tree(item, whole, [](int32_t, uint64_t) { return uint64_t{0}; });
    PageMerge::Group group{.item = item, .cursors = std::move(outermost_), .total = total_};
    PageMerge(whole, {}, stop_).Draw({std::move(group)}, -1, whole.Least(total_), &out.callees);
    if (out.callees.item.empty()) out.callees.Add(item, -1, 0);
    out.lines = LinesOf(store_, selection_, shape_.hidden, {function_}, stop_);
    std::ranges::sort(out.lines, {}, [](const PageLine& l) { return std::pair(l.source, l.line); });
    // Its own values in all its calls, also those from itself: the table has equal numbers.
    int64_t self = 0;
    for (const PageLine& line : out.lines) self = SaturatingAdd(self, line.self);
    out.callers.self[0] = out.callees.self[0] = self;
    return out;
  }

 private:
  // The class knows where its calls lie; ways lead there.
  void TakeClass(const SelectedTree& tree) {
    if (last_ != tree.index) {
      last_ = tree.index;
      own_number_ = tree.index->FindFunction(function_);
    }
    if (!own_number_) return;
    const std::optional<ClassFunction> found =
        ClassFunctions(tree.of_class->sums).Find(*own_number_);
    if (!found) return;
    std::vector<uint64_t> places;
    EachPlace(found->places, [&](uint64_t place) { places.push_back(place); });
    const TreePlace& whole = tree.of_class->tree;
    TakeCalls(tree, whole, PlacesBelow(whole.at, std::move(places)));
  }

  // The outermost ones below `top`.
  template <typename Wanted>
  void TakeCalls(const SelectedTree& tree, const TreePlace& top, Wanted&& wanted) {
    ShownWay way(shape_);
    const auto enter = [&](const TreePlace& place, uint32_t number, int64_t) {
      const uint32_t function = tree.FunctionAt(number);
      way.Enter(function);
      if (function == function_) AddOutermost(tree, place, way);
      return function != function_;
    };
    WalkTree(
        top, stop_, enter, [&](uint32_t) { way.Leave(); }, std::forward<Wanted>(wanted));
  }

  void AddOutermost(const SelectedTree& tree, const TreePlace& place, const ShownWay& way) {
    outermost_.push_back({&tree, place});
    const int64_t value = SaturatingMultiply(place.total, tree.factor);
    total_ = SaturatingAdd(total_, value);
    callers_.Add(
        callers_.Outwards(way.way(), way.way().size() - 1, GroupItem(selection_, tree.group)),
        value);
  }

  const PageStore& store_;
  const PageSelection& selection_;
  const PageShape& shape_;
  const uint32_t function_;
  const std::stop_token& stop_;
  const PageIndex* last_ = nullptr;  // What is known of this one:
  std::optional<uint32_t> own_number_;
  PageWays callers_;
  std::vector<PageCursor> outermost_;
  int64_t total_ = 0;
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
      out.push_back(
          {p.pid, std::string(tables.strings[p.command]), std::string(tables.strings[p.user])});
  return out;
}

}  // namespace stackray
