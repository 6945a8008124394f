#include "interpreters/thread_name_cache.h"

#include <algorithm>
#include <optional>

#include "absl/time/clock.h"
#include "bpf/shared/runtime.h"

namespace stackray {
namespace {

// A list of very many threads takes milliseconds: at most this part of the time goes into lists.
constexpr int kListsAreOneIn = 100;

}  // namespace

void ThreadNameCache::List(ProcessMemory& memory, absl::Time now, Process* process) {
  const absl::Time begin = absl::Now();
  process->names->List(memory);
  process->last_list = now;
  process->next_list = now + std::max(kLeastBetweenLists, kListsAreOneIn * (absl::Now() - begin));
}

void ThreadNameCache::Look(uint32_t pid, uint32_t tid, absl::Time now, Process* process,
                           Thread* thread) {
  const std::unique_ptr<ProcessMemory> memory = open_(pid);
  if (thread->inner_tid == 0) thread->inner_tid = inner_tid_(tid);
  std::optional<std::string> name =
      process->names->NameOf(*memory, thread->inner_tid, thread->command);
  const absl::Time may_list = thread->is_unknown
                                  ? std::max(process->next_list, process->last_list + kUnknownLife)
                                  : process->next_list;
  if (!name && now >= may_list) {
    List(*memory, now, process);
    name = process->names->NameOf(*memory, thread->inner_tid, thread->command);
    thread->is_unknown = !name.has_value();
  }
  const bool is_named = name.has_value();
  if (is_named) {
    thread->name = *std::move(name);
    thread->is_unknown = false;
  }
  // One that had a name keeps it while its object cannot be read.
  thread->next_look = now + (is_named             ? kNameLife
                             : thread->is_unknown ? kUnknownLife
                                                  : kLeastBetweenLists);
}

std::string_view ThreadNameCache::NameOf(const ProcessId& process_id, uint32_t tid,
                                         std::string_view command,
                                         const std::shared_ptr<const StackInstance>& instance,
                                         absl::Time now) {
  if (names_ >= kMostNames || processes_.size() > MAX_STACK_PROCESSES) Wipe();
  Process& process = processes_[process_id];
  if (process.instance != instance) {  // Its list is empty, and what was told is another one's.
    names_ -= process.threads.size();
    process = {.instance = instance, .names = instance->NamesOfThreads(), .threads = {}};
  }
  if (process.names == nullptr) return command;
  const auto [entry, is_new] = process.threads.try_emplace(tid);
  Thread& thread = entry->second;
  if (is_new) ++names_;
  if (thread.command != command) thread = {.command = std::string(command)};
  if (now >= thread.next_look) Look(process_id.pid, tid, now, &process, &thread);
  return thread.name.empty() ? command : thread.name;
}

void ThreadNameCache::Wipe() {
  processes_.clear();
  names_ = 0;
}

}  // namespace stackray
