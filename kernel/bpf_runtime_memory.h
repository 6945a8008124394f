// RuntimeMemory inside BPF maps.
#ifndef STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
#define STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_

#include "kernel/runtime_memory.h"

namespace stackray {

class BpfRuntimeMemory : public RuntimeMemory {
 public:
  // The fd stays the caller's and outlives this.
  explicit BpfRuntimeMemory(int runtime_files_fd) : runtime_files_fd_(runtime_files_fd) {}
  absl::Status Put(uint32_t runtime, const runtime_layout& layout) override;

 private:
  const int runtime_files_fd_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
