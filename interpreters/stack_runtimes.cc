#include "interpreters/stack_runtimes.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace stackray {
namespace {

constexpr size_t kMostLookedAt = 16'384, kMostNone = 16'384;
constexpr absl::Duration kFirstWait = absl::Milliseconds(5), kLongestWait = absl::Seconds(10);
constexpr uint32_t kMostDoublings = 11;

process_key KeyOf(const ProcessId& process) {
  return {.pid = process.pid, .exec_id = process.exec_id, .start_time_ns = process.start_time_ns};
}

}  // namespace

StackRuntimes::Known& StackRuntimes::Find(const ProcessId& process) {
  if (const auto found = known_.find(process); found != known_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front();
  }
  while (entries_.size() >= MAX_STACK_PROCESSES) {
    memory_.RemoveProcess(KeyOf(entries_.back().process));
    known_.erase(entries_.back().process);
    entries_.pop_back();
  }
  entries_.push_front({.process = process});
  known_[process] = entries_.begin();
  return entries_.front();
}

void StackRuntimes::Attach(uint32_t runtime, const RuntimeData& data, uint64_t base, absl::Time now,
                           Known* known) {
  const std::unique_ptr<ProcessMemory> memory = open_(known->process.pid);
  absl::StatusOr<std::shared_ptr<const StackInstance>> instance = data.Attach(*memory, base);
  if (!instance.ok()) {
    const absl::Duration wait =
        kFirstWait * static_cast<double>(1U << std::min(known->tries++, kMostDoublings));
    known->next_try = absl::IsUnavailable(instance.status()) ? now + std::min(wait, kLongestWait)
                                                             : absl::InfiniteFuture();
    return;
  }
  stack_process process = (*instance)->ForBpf();
  process.runtime = runtime;
  if (memory_.PutProcess(KeyOf(known->process), process).ok())
    known->instance = *std::move(instance);
  else
    known->next_try = now + kLongestWait;
}

void StackRuntimes::Meet(const ProcessId& process, uint32_t runtime, const RuntimeData& data,
                         uint64_t base, absl::Time now) {
  Known& known = Find(process);
  if (known.instance == nullptr && now >= known.next_try) Attach(runtime, data, base, now, &known);
}

bool StackRuntimes::ShouldLook(const ProcessId& process) {
  if (looked_at_.size() >= kMostLookedAt) looked_at_.clear();
  return looked_at_.insert(process).second;
}

std::shared_ptr<const StackInstance> StackRuntimes::Of(const ProcessId& process) {
  const auto found = known_.find(process);
  return found == known_.end() ? nullptr : found->second->instance;
}

void StackRuntimes::AddNone(const FileIdentity& file) {
  if (none_.size() >= kMostNone) none_.clear();
  none_.insert(file);
}

void StackRuntimes::Wipe() {
  for (Known& known : entries_) known = {.process = known.process};
  looked_at_.clear();
  none_.clear();
}

}  // namespace stackray
