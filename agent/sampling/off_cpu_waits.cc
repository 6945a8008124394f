#include "agent/sampling/off_cpu_waits.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kEntryBytes = 64;  // Of the hashes, about.

// What `ns` of a wait stand for.
int64_t Weighted(uint64_t ns, uint8_t shift) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(ns > kMost >> shift ? kMost : ns << shift);
}

// The part of the wait up to `end_ns` that no batch has yet, if there is one.
void Take(OpenWait& wait, WaitKind kind, uint64_t end_ns, const OffCpuWaits::TakePart& take) {
  if (end_ns <= wait.shipped_ns) return;
  const uint64_t ns = end_ns - std::exchange(wait.shipped_ns, end_ns);
  take(wait, {.kind = kind, .end_ns = end_ns, .value = Weighted(ns, wait.weight_shift)});
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
  OpenWait& wait = *found->second;
  const uint64_t in_ns = record.header.time_ns;
  if (KindSoFar(wait) == WaitKind::kPreempted || record.woken_ns == 0) {
    Take(wait, KindSoFar(wait), in_ns, take);
  } else {
    Take(wait, WaitKind::kBlocked, std::min<uint64_t>(record.woken_ns, in_ns), take);
    Take(wait, WaitKind::kRunQueue, in_ns, take);
  }
  Forget(found);
}

void OffCpuWaits::Ship(uint64_t now_ns, const TakePart& take) {
  for (auto& [tid, wait] : waits_) Take(*wait, KindSoFar(*wait), now_ns, take);
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
