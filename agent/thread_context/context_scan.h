// One look at a process's files for the places of its threads' contexts.
// Threads: one at a time.
#ifndef STACKRAY_AGENT_THREAD_CONTEXT_CONTEXT_SCAN_H_
#define STACKRAY_AGENT_THREAD_CONTEXT_CONTEXT_SCAN_H_

#include <optional>

#include "agent/thread_context/file_contexts.h"
#include "agent/thread_context/thread_contexts.h"
#include "bpf/shared/records.h"
#include "interpreters/process_memory.h"

namespace stackray {

struct ContextScanRequest {
  uint32_t pid = 0;
  context_kind published = CONTEXT_NONE;  // By the process's keys.
  bool all_files = false;                 // Else the program alone.
};

// What was found is in the order of its strength: what the process publishes first.
ThreadContextFinding ScanForContexts(const ContextScanRequest& request, ExecutableFiles& files,
                                     FileContextCache& cache, ProcessMemory& memory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_THREAD_CONTEXT_CONTEXT_SCAN_H_
