#include "agent/history/batches_in_memory.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t StartMs(const SealedBatch& batch) { return batch.start_unix_ns / kNsPerMs; }
int64_t EndMs(const SealedBatch& batch) {
  return (batch.start_unix_ns + batch.duration_ns) / kNsPerMs;
}

}  // namespace

void BatchesInMemory::Add(const SealedBatchPtr& batch, int64_t time_ms) {
  batches_.push_back({batch, time_ms});
  bytes_ += batch->bytes.size();
}

void BatchesInMemory::DropOldest() {
  bytes_ -= oldest()->bytes.size();
  ++dropped_;
  batches_.pop_front();
}

void BatchesInMemory::Trim(int64_t oldest_ms, uint64_t max_bytes, HistoryStatistics* counts) {
  while (!batches_.empty()) {
    const bool expired = oldest_time_ms() < oldest_ms;
    if (!expired && bytes_ <= max_bytes) return;
    DropOldest();
    (expired ? counts->expired_batches : counts->evicted_batches) += 1;
  }
}

void BatchesInMemory::Find(int64_t from_ms, int64_t to_ms,
                           std::vector<SealedBatchPtr>* found) const {
  for (const auto& [batch, time_ms] : batches_)
    if (StartMs(*batch) < to_ms && EndMs(*batch) >= from_ms) found->push_back(batch);
}

void BatchesInMemory::EachBatch(
    const std::function<void(uint64_t number, const SealedBatch&)>& visit) const {
  uint64_t number = dropped_;
  for (const auto& [batch, time_ms] : batches_) visit(number++, *batch);
}

void BatchesInMemory::FindNumbers(uint64_t first, uint64_t count,
                                  std::vector<SealedBatchPtr>* found) const {
  uint64_t number = dropped_;
  for (const auto& [batch, time_ms] : batches_) {
    if (number >= first && number < first + count) found->push_back(batch);
    ++number;
  }
}

void BatchesInMemory::AddTo(HistoryStatistics* now) const {
  for (const auto& [batch, time_ms] : batches_) {
    const bool first = now->batches++ == 0;
    now->oldest_ms = first ? StartMs(*batch) : std::min(now->oldest_ms, StartMs(*batch));
    now->newest_ms = EndMs(*batch);
  }
  now->memory_bytes += bytes_;
}

}  // namespace stackray
