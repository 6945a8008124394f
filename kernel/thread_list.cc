#include "kernel/thread_list.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bpf/thread_list.skel.h"
#include "kernel/libbpf_log.h"
#include "kernel/pid_namespace.h"
#include "kernel/task_records.h"

namespace stackray {
namespace {

struct DestroySkeleton {
  void operator()(thread_list_bpf* skeleton) const { thread_list_bpf__destroy(skeleton); }
};

absl::Status Refused(const char* what, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the list of threads cannot be had from BPF: ", what, ": ", strerror(error)));
}

UniqueFd Duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

std::optional<ListedThread> DecodeThread(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(thread_record) ||
      reinterpret_cast<uintptr_t>(bytes.data()) % alignof(thread_record) != 0)
    return std::nullopt;
  const auto* record = reinterpret_cast<const thread_record*>(bytes.data());
  const sample_record& sample = record->sample;
  if (record->header.layout != RECORD_LAYOUT_VERSION || record->header.type != RECORD_THREAD ||
      record->header.size_bytes != bytes.size() || sample.tid == 0 ||
      sample.kernel_count > SAMPLE_MAX_KERNEL_FRAMES || sample.user_words != 0 ||
      sample.range_count != 0 || sample.probed_count != 0 || sample.raw_bytes != 0 ||
      sample.end >= END_REASON_COUNT ||
      bytes.size() != sizeof(thread_record) + sample.kernel_count * sizeof(uint64_t))
    return std::nullopt;
  const auto* kernel = reinterpret_cast<const uint64_t*>(record + 1);
  return ListedThread{record, {kernel, sample.kernel_count}};
}

absl::StatusOr<std::unique_ptr<ThreadList>> ThreadList::Create() {
  const LibbpfLog log;
  const std::unique_ptr<thread_list_bpf, DestroySkeleton> skeleton(thread_list_bpf__open());
  if (skeleton == nullptr) return Refused("open", errno);
  skeleton->rodata->pid_namespace = PidNamespaceOfProc();
  if (const int error = thread_list_bpf__load(skeleton.get()); error != 0)
    return Refused("load", -error);
  skeleton->links.list_threads = bpf_program__attach_iter(skeleton->progs.list_threads, nullptr);
  if (skeleton->links.list_threads == nullptr) return Refused("attach", errno);
  // The link outlives the object, whose parsed form would only take memory.
  UniqueFd link = Duplicate(bpf_link__fd(skeleton->links.list_threads));
  UniqueFd wanted = Duplicate(bpf_map__fd(skeleton->maps.wanted_process));
  if (!link.valid() || !wanted.valid()) return Refused("descriptor", errno);
  return std::unique_ptr<ThreadList>(new ThreadList(std::move(link), std::move(wanted)));
}

absl::Status ThreadList::Read(uint32_t pid, const TakeThread& take) {
  const uint32_t zero = 0;
  if (bpf_map_update_elem(wanted_.get(), &zero, &pid, BPF_ANY) != 0)
    return absl::InternalError(absl::StrCat("cannot name the process: ", strerror(errno)));
  bool damaged = false;
  const absl::Status read = ReadTaskRecords(link_.get(), [&](std::span<const uint8_t> bytes) {
    const std::optional<ListedThread> thread = DecodeThread(bytes);
    damaged |= !thread;
    if (thread) take(*thread);
  });
  if (read.ok() && damaged) return absl::InternalError("the list of threads is damaged");
  return read;
}

}  // namespace stackray
