// What is known of what a process's threads work on, as text for a terminal.
// Threads: a function without state.
#ifndef STACKRAY_AGENT_EXPLAIN_THREAD_WORK_H_
#define STACKRAY_AGENT_EXPLAIN_THREAD_WORK_H_

#include <optional>
#include <string>

#include "agent/thread_context/thread_contexts.h"
#include "bpf/shared/counters.h"

namespace stackray {

struct ThreadWork {
  bool is_off = false;                          // By the settings.
  std::optional<ThreadContextFinding> finding;  // nullopt: the process was not looked at.
  counters counted = {};                        // Of a session that samples this process alone.
};

std::string RenderThreadWork(const ThreadWork& work);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_THREAD_WORK_H_
