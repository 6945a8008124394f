// Where BPF finds the layouts of interpreters (bpf/shared/runtime.h).
// Threads: any.
#ifndef STACKRAY_KERNEL_RUNTIME_MEMORY_H_
#define STACKRAY_KERNEL_RUNTIME_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "bpf/shared/records.h"
#include "bpf/shared/runtime.h"

namespace stackray {

class RuntimeMemory {
 public:
  virtual ~RuntimeMemory() = default;
  // `runtime` is 1 … MAX_RUNTIME_FILES - 1, the number that file entries will name.
  // Errors: InvalidArgument (another number), Internal (the kernel refuses).
  virtual absl::Status Put(uint32_t runtime, const runtime_layout& layout) = 0;
  // Processes with a runtime of kind STACK, at most MAX_STACK_PROCESSES of them.
  // Errors: ResourceExhausted (too many), Internal.
  virtual absl::Status PutProcess(const process_key& process, const stack_process& what) = 0;
  virtual void RemoveProcess(const process_key& process) = 0;
  // The process has none: BPF need not ask again. Where that cannot be told, it does.
  virtual void SayNone(const process_key& process) = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_RUNTIME_MEMORY_H_
