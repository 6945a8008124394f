// The threads of one process as they are now, without stopping it: bpf/thread_list.bpf.c.
//
// Cost:    loading once 8 to 12 ms (most of it the kernel's BTF); a reading some 3 µs a thread of
//          the process, and some 100 ns each other thread of the host.
// Memory:  one program, one link, two small maps; 64 KiB while reading.
// Threads: one at a time.
#ifndef STACKRAY_KERNEL_THREAD_LIST_H_
#define STACKRAY_KERNEL_THREAD_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/shared/threads.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct ListedThread {
  const thread_record* record;
  std::span<const uint64_t> kernel;  // Return addresses, leaf first.
};

// Views into `bytes`, which are aligned to 8. nullopt: a record that contradicts itself.
std::optional<ListedThread> DecodeThread(std::span<const uint8_t> bytes);

class ThreadList {
 public:
  using TakeThread = std::function<void(const ListedThread&)>;
  // Errors: FailedPrecondition, with the kernel's reason, where it cannot load.
  static absl::StatusOr<std::unique_ptr<ThreadList>> Create();

  // Calls `take` once for every thread of the process that has not exited. What is handed over is
  // valid during the call. A thread that is born or ends meanwhile may be there or not.
  // Errors: Internal: the list broke off; what was taken is true.
  absl::Status Read(uint32_t pid, const TakeThread& take);

 private:
  ThreadList(UniqueFd link, UniqueFd wanted) : link_(std::move(link)), wanted_(std::move(wanted)) {}
  const UniqueFd link_;  // Keeps the program and its maps.
  const UniqueFd wanted_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_THREAD_LIST_H_
