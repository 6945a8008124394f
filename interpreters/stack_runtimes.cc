#include "interpreters/stack_runtimes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"

namespace stackray {
namespace {

constexpr size_t kMostLookedAt = 16'384, kMostNone = 16'384;
constexpr absl::Duration kFirstWait = absl::Milliseconds(5), kLongestWait = absl::Seconds(10);
constexpr uint32_t kTriesADoubling = 4, kMostDoublings = 11;
constexpr uint32_t kMostAtOnce = 64;
constexpr absl::Duration kToldEvery = absl::Seconds(1);
// A runtime that has begun is read again after these: its first code may have been in the making.
constexpr std::array kAgain = {absl::Milliseconds(20), absl::Milliseconds(200), absl::Seconds(2)};

process_key KeyOf(const ProcessId& process) {
  return {.pid = process.pid, .exec_id = process.exec_id, .start_time_ns = process.start_time_ns};
}

absl::Duration WaitAfter(uint32_t tries) {
  const uint32_t doublings = std::min(tries / kTriesADoubling, kMostDoublings);
  return std::min(kFirstWait * static_cast<double>(1U << doublings), kLongestWait);
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

const StackRuntimes::Known* StackRuntimes::Look(const ProcessId& process) const {
  const auto found = known_.find(process);
  return found == known_.end() ? nullptr : &*found->second;
}

void StackRuntimes::LetTellRows(const Known& known) {
  if (known.rows_id == 0 || !on_rows_ || with_rows_.size() >= MAX_STACK_PROCESSES) return;
  with_rows_.push_back(known.process);
  has_waiting_rows_ = true;
}

// Rows that were read anew are another set, whatever they say.
void StackRuntimes::TakeInstance(std::shared_ptr<const StackInstance> instance, Known* known) {
  known->instance = std::move(instance);
  known->rows_id = known->instance->rows() == nullptr ? 0 : ++last_rows_id_;
  known->rows_told = absl::InfinitePast();
  LetTellRows(*known);
}

stack_process StackRuntimes::ForBpf(const Known& known) {
  stack_process process = known.instance->ForBpf();
  process.runtime = known.runtime;
  process.rows_id = known.rows_id;
  return process;
}

void StackRuntimes::TellWaitingRows() {
  if (!has_waiting_rows_) return;
  const absl::Time now = absl::Now();
  std::vector<Known> waiting;
  {
    absl::MutexLock lock(&mutex_);
    has_waiting_rows_ = false;
    for (const ProcessId& process : with_rows_)
      if (const auto found = known_.find(process);
          found != known_.end() && found->second->rows_id != 0) {
        found->second->rows_told = now;
        waiting.push_back(*found->second);
      }
    with_rows_.clear();
  }
  for (const Known& known : waiting)
    on_rows_(KeyOf(known.process), known.rows_id, known.instance->rows_begin(),
             *known.instance->rows());
}

void StackRuntimes::Attach(absl::Time now, Known* known) {
  const std::unique_ptr<ProcessMemory> memory = open_(known->process.pid);
  absl::StatusOr<std::shared_ptr<const StackInstance>> instance =
      known->data->Attach(*memory, known->base);
  known->last_try = now;
  if (!instance.ok() || !(*instance)->is_begun()) {
    const bool is_later =
        (instance.ok() || absl::IsUnavailable(instance.status())) && !known->is_begun();
    known->next_try = is_later ? now + WaitAfter(known->tries++) : absl::InfiniteFuture();
    if (instance.ok() && is_later) TakeInstance(*std::move(instance), known);
    return;
  }
  Known read = *known;
  TakeInstance(*std::move(instance), &read);
  if (!memory_.PutProcess(KeyOf(known->process), ForBpf(read)).ok()) {
    known->next_try = now + kLongestWait;
    return;
  }
  const bool was_begun = known->is_begun();
  *known = std::move(read);
  if (!was_begun) known->tries = 0;
  known->next_try =
      known->tries < kAgain.size() ? now + kAgain.at(known->tries++) : absl::InfiniteFuture();
}

void StackRuntimes::Meet(const ProcessId& process, uint32_t runtime,
                         const std::shared_ptr<const RuntimeData>& data, uint64_t base,
                         absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Known& known = Find(process);
  known.runtime = runtime;
  known.base = base;
  known.data = data;
  if (now >= known.next_try) Attach(now, &known);
  if (known.rows_told != absl::InfinitePast() && now - known.rows_told >= kToldEvery) {
    known.rows_told = now;
    LetTellRows(known);
  }
}

void StackRuntimes::MeetAgain(const ProcessId& process, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto found = known_.find(process);
  if (found == known_.end()) return;
  Known& known = *found->second;
  if (known.data != nullptr && now >= known.next_try) Attach(now, &known);
}

void StackRuntimes::MeetAtOnce(const ProcessId& process, absl::Time sampled, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto found = known_.find(process);
  if (found == known_.end()) return;
  Known& known = *found->second;
  if (known.data == nullptr || known.is_begun() || known.next_try == absl::InfiniteFuture() ||
      known.last_try >= sampled || known.tries_at_once >= kMostAtOnce)
    return;
  ++known.tries_at_once;
  Attach(now, &known);
}

bool StackRuntimes::ShouldLook(const ProcessId& process) {
  absl::MutexLock lock(&mutex_);
  if (looked_at_.size() >= kMostLookedAt) looked_at_.clear();
  return looked_at_.insert(process).second;
}

std::shared_ptr<const StackInstance> StackRuntimes::Of(const ProcessId& process) const {
  absl::MutexLock lock(&mutex_);
  const Known* const known = Look(process);
  return known == nullptr ? nullptr : known->instance;
}

std::optional<stack_process> StackRuntimes::ForBpf(const ProcessId& process) const {
  absl::MutexLock lock(&mutex_);
  const Known* const known = Look(process);
  if (known == nullptr || known->instance == nullptr) return std::nullopt;
  return ForBpf(*known);
}

bool StackRuntimes::IsExpected(const ProcessId& process) const {
  absl::MutexLock lock(&mutex_);
  const Known* const known = Look(process);
  return known != nullptr && !known->is_begun() && known->next_try < absl::InfiniteFuture();
}

void StackRuntimes::SayNone(const ProcessId& process) { memory_.SayNone(KeyOf(process)); }

bool StackRuntimes::IsNone(const FileIdentity& file) const {
  absl::MutexLock lock(&mutex_);
  return none_.contains(file);
}

void StackRuntimes::AddNone(const FileIdentity& file) {
  absl::MutexLock lock(&mutex_);
  if (none_.size() >= kMostNone) none_.clear();
  none_.insert(file);
}

void StackRuntimes::Wipe() {
  absl::MutexLock lock(&mutex_);
  for (Known& known : entries_) known = {.process = known.process};
  looked_at_.clear();
  none_.clear();
}

size_t StackRuntimes::size() const {
  absl::MutexLock lock(&mutex_);
  return known_.size();
}

}  // namespace stackray
