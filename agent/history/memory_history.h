// The history where no directory can be used: the sealed batches themselves. Contract: history.h.
#ifndef STACKRAY_AGENT_HISTORY_MEMORY_HISTORY_H_
#define STACKRAY_AGENT_HISTORY_MEMORY_HISTORY_H_

#include <mutex>
#include <vector>

#include "agent/history/batches_in_memory.h"
#include "agent/history/history.h"

namespace stackray {

class MemoryHistory final : public History {
 public:
  explicit MemoryHistory(HistorySettings settings);

  absl::Status Append(const SealedBatchPtr& batch) override;
  uint64_t Query(int64_t from_ms, int64_t to_ms,
                 const std::function<bool(std::string_view)>& visit) override;
  std::vector<HistoryRun> Runs(int64_t from_ms, int64_t to_ms) override;
  uint64_t Visit(const HistoryRun& run,
                 const std::function<bool(std::string_view)>& visit) override;
  HistoryStatistics statistics() const override;
  void LimitMemory(uint64_t bytes) override;

 private:
  void Trim(uint64_t incoming_bytes);  // Expects mutex_ to be held.

  const HistorySettings settings_;
  const AgeClock clock_;
  mutable std::mutex mutex_;  // Guards all below.
  uint64_t max_bytes_;
  BatchesInMemory batches_;
  HistoryStatistics counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_MEMORY_HISTORY_H_
