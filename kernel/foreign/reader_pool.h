// The agent's side of its foreign readers: who is free, who takes too long.
// Threads: any.
#ifndef STACKRAY_KERNEL_FOREIGN_READER_POOL_H_
#define STACKRAY_KERNEL_FOREIGN_READER_POOL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernel/foreign/left_alone.h"
#include "kernel/foreign/reader_process.h"
#include "kernel/foreign/reader_shared.h"

namespace stackray {

class ReaderPool {
 public:
  // Errors: ResourceExhausted (no memory, no process).
  static absl::StatusOr<std::unique_ptr<ReaderPool>> Start(const ReaderLimits& limits);

  // Has a reader do `work`. `take` sees the answer in the slot, with its descriptors, before the
  // slot is somebody else's. 0, ETIMEDOUT (left alone, or now it is) or EAGAIN (no reader).
  int Call(uint32_t pid, ForeignWork work, std::span<const uint8_t> question,
           absl::FunctionRef<void(ReaderSlot&, std::vector<UniqueFd>)> take);

  LeftAlone& left_alone() { return left_alone_; }
  size_t live() const;
  size_t hanging() const;

 private:
  ReaderPool(ReaderShared* shared, ReaderParent parent)
      : shared_(shared), parent_(std::move(parent)) {}
  std::optional<size_t> Take();
  std::optional<size_t> StartOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(size_t index);
  // False: it did not come. `*waited_ns`: how long the reader itself waited for something.
  bool WaitForAnswer(ReaderSlot& slot, uint32_t number, uint64_t* waited_ns);
  void GiveUp(size_t index, uint32_t pid);
  void PauseDevice(uint64_t device);
  std::vector<UniqueFd> ReceiveFiles(size_t index, const ReaderSlot& slot);

  ReaderShared* const shared_;  // Lives as long as the process.
  const ReaderParent parent_;
  LeftAlone left_alone_;
  absl::Mutex mutex_;
  std::vector<size_t> free_ ABSL_GUARDED_BY(mutex_);  // Last used last.
  size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_READER_POOL_H_
