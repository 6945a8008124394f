// RuntimeMemory inside BPF maps.
#ifndef STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
#define STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_

#include "kernel/runtime_memory.h"

namespace stackray {

class BpfRuntimeMemory : public RuntimeMemory {
 public:
  // The fd stays the caller's and outlives this.
  explicit BpfRuntimeMemory(int python_files_fd) : python_files_fd_(python_files_fd) {}
  absl::Status PutPython(uint32_t runtime, const python_layout& layout) override;

 private:
  const int python_files_fd_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_RUNTIME_MEMORY_H_
