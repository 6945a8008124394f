#include "kernel/bpf_runtime_memory.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace stackray {

absl::Status BpfRuntimeMemory::Put(uint32_t runtime, const runtime_layout& layout) {
  if (runtime == 0 || runtime >= MAX_RUNTIME_FILES)
    return absl::InvalidArgumentError("no such entry for a runtime");
  if (bpf_map_update_elem(runtime_files_fd_, &runtime, &layout, BPF_ANY) == 0)
    return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot write the layout of a runtime: ", strerror(errno)));
}

absl::Status BpfRuntimeMemory::PutProcess(const process_key& process, const stack_process& what) {
  if (bpf_map_update_elem(stack_runtimes_fd_, &process, &what, BPF_ANY) == 0)
    return absl::OkStatus();
  if (errno == E2BIG) return absl::ResourceExhaustedError("too many processes with a runtime");
  return absl::InternalError(
      absl::StrCat("cannot write what a process's runtime is: ", strerror(errno)));
}

void BpfRuntimeMemory::RemoveProcess(const process_key& process) {
  bpf_map_delete_elem(stack_runtimes_fd_, &process);
}

void BpfRuntimeMemory::SayNone(const process_key& process) {
  const uint32_t index = process.pid % ANSWERED_PROCESSES;
  bpf_map_update_elem(without_stack_runtime_fd_, &index, &process, BPF_ANY);
}

}  // namespace stackray
