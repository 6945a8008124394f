#include "kernel/bpf_context_memory.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace stackray {
namespace {

size_t BitOf(const process_key& process) { return process.pid % CONTEXT_PID_BITS; }

}  // namespace

absl::Status BpfContextMemory::Put(const process_key& process, const process_contexts& row) {
  bool is_new = bpf_map_update_elem(thread_contexts_fd_, &process, &row, BPF_NOEXIST) == 0;
  if (!is_new && (errno != EEXIST ||
                  bpf_map_update_elem(thread_contexts_fd_, &process, &row, BPF_EXIST) != 0)) {
    if (errno == E2BIG)
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", MAX_CONTEXT_PROCESSES, " processes with a thread context"));
    return absl::InternalError(
        absl::StrCat("cannot write where a process has its thread context: ", strerror(errno)));
  }
  if (!is_new) return absl::OkStatus();
  const size_t bit = BitOf(process);
  ++processes_of_bit_[bit];
  __atomic_fetch_or(&controls_->context_pids[bit / 64], 1ULL << bit % 64, __ATOMIC_SEQ_CST);
  return absl::OkStatus();
}

void BpfContextMemory::Remove(const process_key& process) {
  if (bpf_map_delete_elem(thread_contexts_fd_, &process) != 0) return;
  const size_t bit = BitOf(process);
  if (processes_of_bit_[bit] == 0 || --processes_of_bit_[bit] != 0) return;
  __atomic_fetch_and(&controls_->context_pids[bit / 64], ~(1ULL << bit % 64), __ATOMIC_SEQ_CST);
}

}  // namespace stackray
