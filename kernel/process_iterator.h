// The processes that are there now, as the kernel's task iterator lists them
// (bpf/process_iterator.bpf.c).
//
// Cost:    loading once 8 to 12 ms (most of it the kernel's BTF); a reading about 2 µs a process.
// Memory:  one program, one link, 64 KiB while reading.
// Threads: one at a time.
#ifndef STACKRAY_KERNEL_PROCESS_ITERATOR_H_
#define STACKRAY_KERNEL_PROCESS_ITERATOR_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/task_records.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ProcessIterator {
 public:
  // Errors: FailedPrecondition, with the kernel's reason, where it cannot load.
  static absl::StatusOr<std::unique_ptr<ProcessIterator>> Create();

  // Calls `take` once for every process of this pid namespace and those inside whose threads have
  // not all exited, with a RECORD_EXISTING for DecodeRecord(). The bytes are valid during the call
  // only. A process that is born or ends meanwhile may be there or not; every other one is.
  // Errors: Internal: the list broke off; what was taken is true, and the rest is unknown.
  absl::Status Read(const TakeRecord& take);

 private:
  explicit ProcessIterator(UniqueFd link) : link_(std::move(link)) {}
  const UniqueFd link_;  // Keeps the program and its map.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_ITERATOR_H_
