#include "agent/sampling/process_table.h"

#include "kernel/process_info.h"

namespace stackray {

const ProcessInfo& ProcessTable::Describe(const ProcessId& id, std::string_view command,
                                          int64_t wall_offset_ns) {
  const auto [it, inserted] = by_id_.try_emplace(id);
  if (!inserted) {
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->info;
  }
  entries_.push_front({.id = id, .info = ReadProcessInfo(id, command, wall_offset_ns)});
  it->second = entries_.begin();
  if (entries_.size() > max_processes_) {
    by_id_.erase(entries_.back().id);
    entries_.pop_back();
  }
  return entries_.front().info;
}

std::vector<ExecutableFilePtr>* ProcessTable::FilesOf(const ProcessId& id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second->files;
}

void ProcessTable::MarkEnded(const ProcessId& id) {
  if (by_id_.contains(id)) ended_.push_back(id);
}

void ProcessTable::DropEnded() {
  for (const ProcessId& id : ended_) {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) continue;
    entries_.erase(it->second);
    by_id_.erase(it);
  }
  ended_.clear();
}

}  // namespace stackray
