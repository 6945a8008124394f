// What PageProfile does when it is full: keeps what has the most samples, in new tables.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "reporter/formats/page_profile.h"

namespace stackray {
namespace {

constexpr size_t kThreadsByShare = 2048;       // 1024 threads at the first try.
constexpr size_t kLastShareWithCommands = 64;  // Then even commands are too many.

// Which of many things are kept: those with the largest totals, of equal ones those that came
// first. So a node's parent, which has no smaller total and a smaller number, is kept whenever the
// node is.
class Keeper {
 public:
  Keeper(const std::vector<uint32_t>& totals, size_t most) {
    std::vector<uint32_t> numbers(kLargest + 1);  // Of things by total.
    for (const uint32_t total : totals) ++numbers[std::min(total, kLargest)];
    size_t above = 0;
    for (at_ = kLargest; at_ > 1 && above + numbers[at_] <= most; --at_) above += numbers[at_];
    left_ = above < most ? most - above : 0;
  }
  // To be asked in order, once for each.
  bool Keep(uint32_t total) {
    total = std::min(total, kLargest);
    if (total != at_) return total > at_;
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  static constexpr uint32_t kLargest = 1 << 16;  // Larger totals count as equal to it.
  uint32_t at_ = 1;
  size_t left_ = 0;
};

uint32_t AddTotals(uint32_t a, int64_t b) {
  return static_cast<uint32_t>(std::min<int64_t>(SaturatingAdd(int64_t{a}, b), UINT32_MAX));
}

using FrameTable = InternTable<CallFrame>;

// How much a row counts for when it is decided what is kept: its samples. All rows of another type
// together count as much as all on-CPU samples.
class RowWeights {
 public:
  RowWeights(const SumTables& tables, const PageRows& rows) : tables_(tables) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t type = TypeOf(rows[i]);
      if (type >= totals_.size()) totals_.resize(type + 1);
      totals_[type] += static_cast<double>(rows[i].count);
    }
    if (totals_[0] == 0) totals_[0] = kWithoutCpu;
  }
  int64_t Of(const ViewRow& row) const {
    const size_t type = TypeOf(row);
    if (type == SampleSums::kCpuType) return row.count;
    const double share = static_cast<double>(row.count) / totals_[type];
    return std::max<int64_t>(static_cast<int64_t>(share * totals_[0]), 1);
  }

 private:
  static constexpr double kWithoutCpu = 1 << 20;
  size_t TypeOf(const ViewRow& row) const { return tables_.threads[row.thread].type; }

  const SumTables& tables_;
  std::vector<double> totals_{0.0};  // By type.
};

// Copies what is kept from `from` to `to`; the copies' numbers are asked for one by one.
class Reduction {
 public:
  Reduction(const SumTables& from, const FrameTable& frames, const PageRows& rows, size_t share)
      : from_(from),
        from_frames_(frames),
        share_(share),
        node_totals_(from.nodes.items().size()),
        thread_totals_(from.threads.items().size()) {
    const RowWeights weights(from, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const ViewRow row = rows[i];
      const int64_t weight = weights.Of(row);
      node_totals_[row.node] = AddTotals(node_totals_[row.node], weight);
      thread_totals_[row.thread] = AddTotals(thread_totals_[row.thread], weight);
    }
    for (size_t i = node_totals_.size(); i-- > 1;) {
      uint32_t& parent = node_totals_[from.nodes[static_cast<uint32_t>(i)].parent];
      parent = AddTotals(parent, node_totals_[i]);
    }
  }

  std::vector<uint32_t> Nodes() {
    Keeper keeper(node_totals_, node_totals_.size() / share_);
    std::vector<uint32_t> node_of(node_totals_.size());
    std::vector<uint32_t> frame_of(from_frames_.items().size(), kNoId);
    for (size_t i = 1; i < node_of.size(); ++i) {
      const ViewNode& node = from_.nodes[static_cast<uint32_t>(i)];
      const uint32_t parent = node_of[node.parent];
      if (node_totals_[i] == 0) continue;  // Nobody asks for it.
      if (!keeper.Keep(node_totals_[i])) {
        node_of[i] = CutBelow(parent);
        continue;
      }
      uint32_t& frame = frame_of[node.frame];
      if (frame == kNoId) frame = Frame(from_frames_[node.frame]);
      node_of[i] = to_.nodes.Intern({parent, frame}, true);
    }
    return node_of;
  }

  std::vector<uint32_t> Threads() {
    Keeper keeper(thread_totals_, std::max<size_t>(kThreadsByShare / share_, 1));
    std::vector<uint32_t> thread_of(thread_totals_.size());
    for (size_t i = 0; i < thread_of.size(); ++i) {
      if (thread_totals_[i] == 0) continue;
      ViewThread thread = from_.threads[static_cast<uint32_t>(i)];
      ViewProcess process = from_.processes[thread.process];
      const bool kept = keeper.Keep(thread_totals_[i]);
      if (!kept) process = {.command = share_ <= kLastShareWithCommands ? process.command : 0};
      process.command = Text(process.command);
      process.executable = Text(process.executable);
      process.container = Text(process.container);
      process.service = Text(process.service);
      process.creation_time = Text(process.creation_time);
      process.cgroup = Text(process.cgroup);
      process.user = Text(process.user);
      if (!kept) thread = {.type = thread.type, .wait = thread.wait};
      thread.process = to_.processes.Intern(process, true);
      thread.name = Text(thread.name);
      thread.wait = Text(thread.wait);
      thread_of[i] = to_.threads.Intern(thread, true);
    }
    return thread_of;
  }

  uint32_t Text(uint32_t id) { return to_.strings.Intern(from_.strings[id], true); }
  SumTables TakeTables() { return std::move(to_); }
  FrameTable TakeFrames() { return std::move(to_frames_); }

 private:
  uint32_t Frame(CallFrame frame) {
    frame.name = Text(frame.name);
    frame.type = Text(frame.type);
    frame.file = Text(frame.file);
    frame.source = Text(frame.source);
    return to_frames_.Intern(frame, true);
  }

  uint32_t CutBelow(uint32_t parent) {
    if (cut_frame_ == kNoId) {
      cut_frame_ = to_frames_.Intern({.name = to_.strings.Intern(PageProfile::kCutName, true),
                                      .type = to_.strings.Intern(PageProfile::kCutType, true)},
                                     true);
    }
    if (parent != 0 && to_.nodes[parent].frame == cut_frame_) return parent;
    return to_.nodes.Intern({parent, cut_frame_}, true);
  }

  const SumTables& from_;
  const FrameTable& from_frames_;
  SumTables to_;
  FrameTable to_frames_;
  const size_t share_;
  std::vector<uint32_t> node_totals_;  // With all below them.
  std::vector<uint32_t> thread_totals_;
  uint32_t cut_frame_ = kNoId;
};

}  // namespace

void PageProfile::Reduce(size_t share) {
  tables_.nodes.DropIndex();  // New nodes take its room.
  Reduction reduction(tables_, frames_, rows_, share);
  const std::vector<uint32_t> node_of = reduction.Nodes();
  const std::vector<uint32_t> thread_of = reduction.Threads();
  host_name_ = reduction.Text(host_name_);
  tables_ = reduction.TakeTables();
  frames_ = reduction.TakeFrames();
  rows_.Renumber(node_of, thread_of);
}

}  // namespace stackray
