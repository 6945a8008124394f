#include "kernel/process_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bpf/process_iterator.skel.h"
#include "kernel/libbpf_log.h"
#include "kernel/pid_namespace.h"
#include "kernel/task_records.h"

namespace stackray {
namespace {

struct DestroySkeleton {
  void operator()(process_iterator_bpf* skeleton) const { process_iterator_bpf__destroy(skeleton); }
};

absl::Status Refused(const char* what, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the list of processes cannot be had from BPF: ", what, ": ", strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessIterator>> ProcessIterator::Create() {
  const LibbpfLog log;
  const std::unique_ptr<process_iterator_bpf, DestroySkeleton> skeleton(
      process_iterator_bpf__open());
  if (skeleton == nullptr) return Refused("open", errno);
  skeleton->rodata->pid_namespace = PidNamespaceOfProc();
  if (const int error = process_iterator_bpf__load(skeleton.get()); error != 0)
    return Refused("load", -error);
  skeleton->links.list_processes =
      bpf_program__attach_iter(skeleton->progs.list_processes, nullptr);
  if (skeleton->links.list_processes == nullptr) return Refused("attach", errno);
  // The link outlives the object, whose parsed form would only take memory.
  UniqueFd link(fcntl(bpf_link__fd(skeleton->links.list_processes), F_DUPFD_CLOEXEC, 0));
  if (!link.valid()) return Refused("descriptor", errno);
  return std::unique_ptr<ProcessIterator>(new ProcessIterator(std::move(link)));
}

absl::Status ProcessIterator::Read(const TakeRecord& take) {
  return ReadTaskRecords(link_.get(), take);
}

}  // namespace stackray
