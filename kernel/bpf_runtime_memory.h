// RuntimeMemory inside BPF maps.
#ifndef STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
#define STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_

#include "kernel/runtime_memory.h"

namespace stackray {

class BpfRuntimeMemory : public RuntimeMemory {
 public:
  // The descriptors stay the caller's and outlive this.
  BpfRuntimeMemory(int runtime_files_fd, int stack_runtimes_fd, int without_stack_runtime_fd)
      : runtime_files_fd_(runtime_files_fd),
        stack_runtimes_fd_(stack_runtimes_fd),
        without_stack_runtime_fd_(without_stack_runtime_fd) {}
  absl::Status Put(uint32_t runtime, const runtime_layout& layout) override;
  absl::Status PutProcess(const process_key& process, const stack_process& what) override;
  void RemoveProcess(const process_key& process) override;
  void SayNone(const process_key& process) override;

 private:
  const int runtime_files_fd_, stack_runtimes_fd_, without_stack_runtime_fd_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
