#include "agent/sampling/off_cpu_waits.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kEntryBytes = 64;  // Of the hashes, about.

// What `ns` of a wait stand for.
uint64_t Weighted(uint64_t ns, uint8_t shift) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return ns > kMost >> shift ? kMost : ns << shift;
}

void Give(const OpenWait& wait, WaitKind kind, uint64_t end_ns, uint64_t value,
          const OffCpuWaits::TakePart& take) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (value == 0) return;
  take(wait,
       {.kind = kind, .end_ns = end_ns, .value = static_cast<int64_t>(std::min(value, kMost))});
}

WaitKind KindSoFar(const OpenWait& wait) {
  return (wait.flags & SAMPLE_PREEMPTED) != 0 ? WaitKind::kPreempted : WaitKind::kBlocked;
}

}  // namespace

size_t OpenWait::bytes() const {
  return sizeof(OpenWait) + kEntryBytes + (kernel_count + user_count) * sizeof(uint64_t) +
         range_count * sizeof(code_range) + context_bytes;
}

bool OffCpuWaits::Begin(const RawSample& sample, std::span<const uint64_t> user,
                        std::span<const code_range> ranges, uint32_t end, uint32_t flags) {
  const sample_record& record = *sample.record;
  if (const auto before = waits_.find(record.tid); before != waits_.end()) Forget(before);
  auto wait = std::make_unique<OpenWait>();
  wait->process = record.process;
  wait->tid = record.tid;
  wait->cpu = record.cpu;
  std::memcpy(wait->leader_command, record.leader_command, COMMAND_BYTES);
  std::memcpy(wait->thread_command, record.thread_command, COMMAND_BYTES);
  wait->out_ns = wait->shipped_ns = record.header.time_ns;
  wait->end = end;
  wait->flags = static_cast<uint8_t>(flags);
  wait->weight_shift = record.weight_shift;
  wait->captures = record.captures;
  wait->kernel_count = static_cast<uint32_t>(sample.kernel.size());
  wait->user_count = static_cast<uint32_t>(user.size());
  wait->range_count = static_cast<uint32_t>(ranges.size());
  wait->context_bytes = static_cast<uint32_t>(sample.context.size());
  if (waits_.size() >= limits_.waits || bytes_ + wait->bytes() > limits_.bytes) return false;
  wait->words = std::make_unique_for_overwrite<uint64_t[]>(
      sample.kernel.size() + user.size() + sample.context.size() / sizeof(uint64_t));
  uint64_t* const behind =
      std::ranges::copy(user, std::ranges::copy(sample.kernel, wait->words.get()).out).out;
  if (!sample.context.empty()) std::memcpy(behind, sample.context.data(), sample.context.size());
  wait->ranges = std::make_unique_for_overwrite<code_range[]>(ranges.size());
  std::ranges::copy(ranges, wait->ranges.get());
  bytes_ += wait->bytes();
  ++of_process_[record.process.pid];
  waits_.emplace(record.tid, std::move(wait));
  return true;
}

void OffCpuWaits::End(const wait_end_record& record, const TakePart& take) {
  const auto found = waits_.find(record.tid);
  if (found == waits_.end() || found->second->out_ns != record.out_ns) return;
  const OpenWait& wait = *found->second;
  const bool is_preempted = KindSoFar(wait) == WaitKind::kPreempted;
  const uint64_t in_ns = std::max<uint64_t>(record.header.time_ns, wait.shipped_ns);
  const uint64_t woken_ns = is_preempted || record.woken_ns == 0
                                ? in_ns
                                : std::clamp<uint64_t>(record.woken_ns, wait.shipped_ns, in_ns);
  const uint64_t length = in_ns - wait.shipped_ns;
  const WaitAccounts::Counts counts =
      accounts_.End({.tid = record.tid,
                     .is_preempted = is_preempted,
                     .out_ns = record.out_ns,
                     .since_ns = record.since_ns,
                     .waited_ns = record.waited_ns,
                     .length_ns = length,
                     .queued_ns = in_ns - woken_ns,
                     .estimate = Weighted(length, wait.weight_shift)});
  Give(wait, KindSoFar(wait), woken_ns, counts.waited, take);
  Give(wait, WaitKind::kRunQueue, in_ns, counts.queued, take);
  Forget(found);
}

// A wait that the last look has met is not an estimate any more.
void OffCpuWaits::Ship(uint64_t now_ns, const TakePart& take) {
  for (auto& [tid, wait] : waits_) {
    if (now_ns <= wait->shipped_ns) continue;
    const uint64_t own_ns = now_ns - std::exchange(wait->shipped_ns, now_ns);
    const bool is_preempted = KindSoFar(*wait) == WaitKind::kPreempted;
    const WaitAccounts::Counts counts =
        accounts_.Ship({.tid = tid,
                        .is_preempted = is_preempted,
                        .out_ns = wait->out_ns,
                        .now_ns = now_ns,
                        .own_ns = own_ns,
                        .estimate = Weighted(own_ns, wait->weight_shift)});
    if (counts.is_known) wait->weight_shift = 0;
    Give(*wait, KindSoFar(*wait), now_ns, counts.waited, take);
    Give(*wait, WaitKind::kRunQueue, now_ns, counts.queued, take);
  }
}

void OffCpuWaits::EndProcess(const process_key& process) {
  if (!of_process_.contains(process.pid)) return;
  Check([this, &process](uint32_t tid) -> std::optional<uint64_t> {
    const OpenWait& wait = *waits_.at(tid);
    if (wait.process.pid == process.pid && wait.process.start_time_ns == process.start_time_ns)
      return std::nullopt;
    return wait.out_ns;
  });
}

void OffCpuWaits::Check(const std::function<std::optional<uint64_t>(uint32_t tid)>& waits_since) {
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto at = it++;
    if (waits_since(at->first) != at->second->out_ns) Forget(at);
  }
}

void OffCpuWaits::ForgetCapture(int capture) {
  const auto bit = static_cast<uint16_t>(1u << capture);
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto at = it++;
    uint16_t& captures = at->second->captures;
    if ((captures & bit) == 0) continue;
    captures = static_cast<uint16_t>(captures & ~bit);
    if (captures == 0) Forget(at);
  }
}

void OffCpuWaits::Forget(Waits::iterator wait) {
  bytes_ -= wait->second->bytes();
  const auto count = of_process_.find(wait->second->process.pid);
  if (--count->second == 0) of_process_.erase(count);
  waits_.erase(wait);
}

}  // namespace stackray
