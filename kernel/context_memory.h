// Where BPF finds what each process's threads work on (bpf/shared/thread_context.h).
// Threads: one at a time.
#ifndef STACKRAY_KERNEL_CONTEXT_MEMORY_H_
#define STACKRAY_KERNEL_CONTEXT_MEMORY_H_

#include "absl/status/status.h"
#include "bpf/shared/records.h"
#include "bpf/shared/thread_context.h"

namespace stackray {

class ContextMemory {
 public:
  virtual ~ContextMemory() = default;
  // At most MAX_CONTEXT_PROCESSES of them; another row of a process replaces its first one.
  // Errors: ResourceExhausted (too many), Internal.
  virtual absl::Status Put(const process_key& process, const process_contexts& row) = 0;
  // Nothing happens to one that has no row.
  virtual void Remove(const process_key& process) = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CONTEXT_MEMORY_H_
