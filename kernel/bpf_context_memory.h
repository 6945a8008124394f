// ContextMemory inside BPF maps.
#ifndef STACKRAY_KERNEL_BPF_CONTEXT_MEMORY_H_
#define STACKRAY_KERNEL_BPF_CONTEXT_MEMORY_H_

#include <array>
#include <cstdint>

#include "bpf/shared/counters.h"
#include "kernel/context_memory.h"

namespace stackray {

class BpfContextMemory : public ContextMemory {
 public:
  // The descriptor and the programs' settings stay the caller's and outlive this.
  BpfContextMemory(int thread_contexts_fd, control* controls)
      : thread_contexts_fd_(thread_contexts_fd), controls_(controls) {}
  absl::Status Put(const process_key& process, const process_contexts& row) override;
  void Remove(const process_key& process) override;

 private:
  const int thread_contexts_fd_;
  control* const controls_;
  std::array<uint16_t, CONTEXT_PID_BITS> processes_of_bit_{};  // Of control.context_pids.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_CONTEXT_MEMORY_H_
