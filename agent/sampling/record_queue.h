// Records on their way from the ring to the sample loop, in their order.
//
// Threads: one adds at a time, one takes. Memory: max_bytes, and what one read of the ring adds
//          beyond that.
#ifndef STACKRAY_AGENT_SAMPLING_RECORD_QUEUE_H_
#define STACKRAY_AGENT_SAMPLING_RECORD_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/sampling/ring_intake.h"

namespace stackray {

class RecordQueue {
 public:
  static constexpr size_t kMaxBytes = 4 << 20;  // Unless more is asked for.

  explicit RecordQueue(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Copies the record, without a sample's slice, and its walk.
  void Add(const TakenRecord& record);
  bool HasRoom() const;
  // Returns when there is room: true; or false after Close().
  bool WaitForRoom();
  void Close();

  // Returns when there is a record, after Wake(), or after `timeout`.
  void WaitForRecord(absl::Duration timeout);
  // Ends the wait for a record, or the next one. Threads: any.
  void Wake();
  // Calls `take` for all that wait now, and returns how many. They need room until this returns.
  int TakeAll(const RingIntake::Take& take);

 private:
  struct Entry {
    size_t first_word = 0, bytes = 0;
    std::optional<size_t> finished;
  };
  struct Records {
    std::vector<uint64_t> words;
    std::vector<Entry> entries;
    std::vector<WalkResult> finished;
    size_t bytes = 0;
  };
  bool HasRoomLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return waiting_.bytes + taken_bytes_ < max_bytes_;
  }
  bool HasRoomOrIsClosed() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return closed_ || HasRoomLocked();
  }
  bool HasRecordOrIsWoken() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return woken_ || !waiting_.entries.empty();
  }

  const size_t max_bytes_;
  mutable absl::Mutex mutex_;
  Records waiting_ ABSL_GUARDED_BY(mutex_);
  size_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false, woken_ ABSL_GUARDED_BY(mutex_) = false;
  Records taken_;  // The reading thread's alone.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_RECORD_QUEUE_H_
