#include "agent/thread_context/thread_contexts.h"

#include <algorithm>
#include <utility>

#include "agent/thread_context/context_scan.h"
#include "interpreters/process_memory.h"

namespace stackray {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint32_t kLongestWaitS = 256;
constexpr uint64_t kWaitForRoomS = 60;

process_key KeyOf(const ProcessId& id) {
  return {.pid = id.pid, .exec_id = id.exec_id, .start_time_ns = id.start_time_ns};
}

std::string_view SchemaOf(const ContextWatch& watch) {
  return watch.context == nullptr ? std::string_view() : watch.context->threads.version;
}

}  // namespace

// The OTEP calls the first one a name for the time of its development, and the last its final one;
// writers of 2026 publish the first.
context_kind KindOfSchema(std::string_view version) {
  if (version == "tlsdesc_v1_dev" || version == "tlsdesc_v1" || version == "tls_v1")
    return CONTEXT_OTEL;
  if (version == "nodejs_v1_dev" || version == "nodejs_v1") return CONTEXT_NODE;
  if (version == "go_pprof_labels_v1") return CONTEXT_GO_LABELS;
  return CONTEXT_NONE;
}

void ThreadContexts::Follow(const ProcessId& process, const ContextWatch& watch, uint64_t now_ns) {
  if (known_.size() >= kMostProcesses && !known_.contains(process)) known_.erase(DropOldest());
  Known& known = known_[process];
  known.followed_ns = now_ns;
  const bool is_new = known.published_at_ns != watch.published_at_ns ||
                      known.had_library != watch.has_context_library;
  LiveProcessMemory memory(process.pid);
  const bool has_moved = std::ranges::any_of(
      known.finding.places, [&](const auto& place) { return !IsUnchanged(place.where, memory); });
  if (has_moved && memory.IsGone()) return;  // It has ended: its last samples may be on their way.
  if (is_new || has_moved) {
    known.wait_s = 1;
    known.next_scan_ns = 0;
  }
  if (now_ns < known.next_scan_ns) return;
  known.published_at_ns = watch.published_at_ns;
  known.context = watch.context;
  known.had_library = watch.has_context_library;
  Scan(process, watch, &known);
  const bool is_complete = known.finding.trouble.empty();
  known.next_scan_ns = is_complete ? UINT64_MAX : now_ns + known.wait_s * kSecondNs;
  known.wait_s = std::min(2 * known.wait_s, kLongestWaitS);
  Publish(process, &known);
}

void ThreadContexts::Scan(const ProcessId& process, const ContextWatch& watch, Known* known) {
  const std::string_view schema = SchemaOf(watch);
  const context_kind published = KindOfSchema(schema);
  LiveProcessMemory memory(process.pid);
  known->finding =
      ScanForContexts({.pid = process.pid,
                       .published = published,
                       .all_files = published == CONTEXT_OTEL || published == CONTEXT_NODE ||
                                    watch.has_context_library},
                      files_, cache_, memory);
  if (watch.context != nullptr) known->finding.published = watch.context->threads;
  if (!schema.empty() && published == CONTEXT_NONE)
    known->finding.trouble =
        "threadlocal.schema_version is " + std::string(schema) + ", which is not known";
}

// Where the process's keys have the names of labels that captures want.
void ThreadContexts::SetKeys(const Known& known, process_contexts* row) const {
  std::ranges::fill(row->key_of_target, static_cast<u16>(NO_LABEL_KEY));
  if (known.context == nullptr) return;
  const std::vector<std::string>& keys = known.context->threads.keys;
  for (size_t i = 0; i < label_targets_.size() && i < MAX_LABEL_TARGETS; ++i) {
    if (label_targets_[i].empty()) continue;
    const auto key = std::ranges::find(keys, label_targets_[i]);
    if (key != keys.end()) row->key_of_target[i] = static_cast<u16>(key - keys.begin());
  }
}

void ThreadContexts::SetLabelTargets(std::span<const std::string> names) {
  if (std::ranges::equal(names, label_targets_)) return;
  label_targets_.assign(names.begin(), names.end());
  for (auto& [process, known] : known_)
    if (known.is_read) Publish(process, &known);
}

void ThreadContexts::Publish(const ProcessId& process, Known* known) {
  const process_key key = KeyOf(process);
  if (known->finding.places.empty()) {
    if (std::exchange(known->is_read, false)) memory_.Remove(key);
    return;
  }
  process_contexts row = {};
  for (size_t i = 0; i < known->finding.places.size(); ++i)
    row.places[i] = known->finding.places[i].where.place;
  SetKeys(*known, &row);
  absl::Status status = memory_.Put(key, row);
  if (absl::IsResourceExhausted(status)) {
    ++no_room_;
    DropOldest();
    status = memory_.Put(key, row);
  }
  known->is_read = status.ok();
  if (!status.ok()) known->finding.trouble = std::string(status.message());
}

// Of those that BPF reads the one that was sampled longest ago loses its row; without any, of all.
// It comes again later: more processes than there is room for would otherwise take turns.
ThreadContexts::Processes::iterator ThreadContexts::DropOldest() {
  auto oldest = known_.end();
  for (auto it = known_.begin(); it != known_.end(); ++it) {
    const auto rank = [](const auto& at) {
      return std::pair(!at->second.is_read, at->second.followed_ns);
    };
    if (oldest == known_.end() || rank(it) < rank(oldest)) oldest = it;
  }
  if (oldest == known_.end()) return oldest;
  if (std::exchange(oldest->second.is_read, false)) memory_.Remove(KeyOf(oldest->first));
  oldest->second.next_scan_ns = oldest->second.followed_ns + kWaitForRoomS * kSecondNs;
  return oldest;
}

void ThreadContexts::Forget(const ProcessId& process) {
  const auto known = known_.find(process);
  if (known == known_.end()) return;
  if (known->second.is_read) memory_.Remove(KeyOf(process));
  known_.erase(known);
}

const ThreadContextFinding* ThreadContexts::FindingOf(uint32_t pid) const {
  const Known* newest = nullptr;
  for (const auto& [process, known] : known_)
    if (process.pid == pid && (newest == nullptr || known.followed_ns > newest->followed_ns))
      newest = &known;
  return newest == nullptr ? nullptr : &newest->finding;
}

ThreadContexts::Counts ThreadContexts::counts() const {
  Counts counts{.no_room = no_room_};
  for (const auto& [process, known] : known_) {
    counts.processes += known.is_read ? 1 : 0;
    counts.unresolved += !known.is_read && !known.finding.trouble.empty() ? 1 : 0;
  }
  return counts;
}

}  // namespace stackray
