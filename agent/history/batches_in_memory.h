// Sealed batches in memory, oldest first, within a bound.
// Threads: its owner's lock.
#ifndef STACKRAY_AGENT_HISTORY_BATCHES_IN_MEMORY_H_
#define STACKRAY_AGENT_HISTORY_BATCHES_IN_MEMORY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "agent/history/history.h"

namespace stackray {

class BatchesInMemory {
 public:
  // `time_ms`: when it is stored, by the history's AgeClock.
  void Add(const SealedBatchPtr& batch, int64_t time_ms);
  bool empty() const { return batches_.empty(); }
  const SealedBatchPtr& oldest() const { return batches_.front().batch; }
  int64_t oldest_time_ms() const { return batches_.front().time_ms; }
  void DropOldest();
  // Drops the oldest until none was stored before `oldest_ms` and there are at most `max_bytes`;
  // counts them.
  void Trim(int64_t oldest_ms, uint64_t max_bytes, HistoryStatistics* counts);
  // Appends those that overlap [from_ms, to_ms).
  void Find(int64_t from_ms, int64_t to_ms, std::vector<SealedBatchPtr>* found) const;
  uint64_t bytes() const { return bytes_; }
  // All of them, oldest first, each with its number since the beginning.
  void EachBatch(const std::function<void(uint64_t number, const SealedBatch&)>& visit) const;
  // Appends `count` of them from that number on, as far as they are still there.
  void FindNumbers(uint64_t first, uint64_t count, std::vector<SealedBatchPtr>* found) const;
  // Adds to what is there now: batches, memory_bytes, and the times.
  void AddTo(HistoryStatistics* now) const;

 private:
  struct Stored {
    SealedBatchPtr batch;
    int64_t time_ms;
  };
  std::deque<Stored> batches_;
  uint64_t bytes_ = 0;
  uint64_t dropped_ = 0;  // Since the beginning.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_BATCHES_IN_MEMORY_H_
