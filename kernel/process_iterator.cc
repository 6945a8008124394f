#include "kernel/process_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bpf/process_iterator.skel.h"
#include "bpf/shared/records.h"
#include "kernel/libbpf_log.h"
#include "kernel/pid_namespace.h"

namespace stackray {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // Larger than the largest record.

struct DestroySkeleton {
  void operator()(process_iterator_bpf* skeleton) const { process_iterator_bpf__destroy(skeleton); }
};

absl::Status Refused(const char* what, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the list of processes cannot be had from BPF: ", what, ": ", strerror(error)));
}

// Hands over the whole records at the front; returns how many bytes they have. -1: no record.
ssize_t TakeWhole(const uint8_t* bytes, size_t size, const ProcessIterator::TakeRecord& take) {
  size_t at = 0;
  while (size - at >= sizeof(record_header)) {
    const auto* header = reinterpret_cast<const record_header*>(bytes + at);
    const size_t record = header->size_bytes;
    if (record < sizeof(record_header) || record % 8 != 0 || record > kBufferBytes) return -1;
    if (record > size - at) break;
    take({bytes + at, record});
    at += record;
  }
  return static_cast<ssize_t>(at);
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
  const UniqueFd list(bpf_iter_create(link_.get()));
  if (!list.valid())
    return absl::InternalError(absl::StrCat("cannot list processes: ", strerror(errno)));
  std::vector<uint64_t> words(kBufferBytes / 8);  // Records are aligned to 8 bytes.
  auto* const buffer = reinterpret_cast<uint8_t*>(words.data());
  for (size_t held = 0;;) {
    const ssize_t n = read(list.get(), buffer + held, kBufferBytes - held);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 || (n == 0 && held != 0))
      return absl::InternalError(
          absl::StrCat("the list of processes broke off: ", strerror(errno)));
    if (n == 0) return absl::OkStatus();
    held += static_cast<size_t>(n);
    const ssize_t taken = TakeWhole(buffer, held, take);
    if (taken < 0) return absl::InternalError("the list of processes holds something else");
    held -= static_cast<size_t>(taken);
    std::memmove(buffer, buffer + taken, held);
  }
}

}  // namespace stackray
