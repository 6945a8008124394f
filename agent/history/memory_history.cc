#include "agent/history/memory_history.h"

#include <algorithm>
#include <utility>

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t StartMs(const SealedBatch& batch) { return batch.start_unix_ns / kNsPerMs; }
int64_t EndMs(const SealedBatch& batch) {
  return (batch.start_unix_ns + batch.duration_ns) / kNsPerMs;
}

}  // namespace

MemoryHistory::MemoryHistory(HistorySettings settings)
    : settings_(std::move(settings)),
      clock_(settings_),
      max_bytes_(std::min(settings_.max_bytes, settings_.memory_bytes)) {}

void MemoryHistory::Trim(uint64_t incoming_bytes) {
  const int64_t oldest_ms = clock_.NowMs() - settings_.max_age_ms;
  while (!batches_.empty()) {
    const bool expired = batches_.front().time_ms < oldest_ms;
    if (!expired && bytes_ + incoming_bytes <= max_bytes_) return;
    bytes_ -= batches_.front().batch->bytes.size();
    batches_.pop_front();
    (expired ? counts_.expired_batches : counts_.evicted_batches) += 1;
  }
}

void MemoryHistory::LimitMemory(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  max_bytes_ = std::min({bytes, settings_.max_bytes, settings_.memory_bytes});
  Trim(0);
}

absl::Status MemoryHistory::Append(const SealedBatchPtr& batch) {
  const std::lock_guard lock(mutex_);
  if (batch->bytes.size() > max_bytes_) {
    counts_.failed_batches += 1;
    counts_.failed_samples += batch->samples;
    counts_.failed_markers += batch->lost_samples;
    return absl::ResourceExhaustedError("the batch is larger than the whole history");
  }
  Trim(batch->bytes.size());
  batches_.push_back({batch, clock_.NowMs()});
  bytes_ += batch->bytes.size();
  counts_.appended_batches += 1;
  counts_.appended_samples += batch->samples;
  counts_.appended_markers += batch->lost_samples;
  return absl::OkStatus();
}

uint64_t MemoryHistory::Query(int64_t from_ms, int64_t to_ms,
                              const std::function<bool(std::string_view)>& visit) {
  std::vector<SealedBatchPtr> wanted;
  {
    const std::lock_guard lock(mutex_);
    Trim(0);
    for (const auto& [batch, stored_ms] : batches_)
      if (StartMs(*batch) < to_ms && EndMs(*batch) >= from_ms) wanted.push_back(batch);
  }
  uint64_t visited = 0;
  for (const SealedBatchPtr& batch : wanted) {
    ++visited;
    if (!visit(batch->bytes)) break;
  }
  return visited;
}

HistoryStatistics MemoryHistory::statistics() const {
  const std::lock_guard lock(mutex_);
  HistoryStatistics now = counts_;
  now.bytes = bytes_;
  now.batches = batches_.size();
  for (const auto& [batch, stored_ms] : batches_) {
    now.oldest_ms = now.newest_ms == 0 ? StartMs(*batch) : std::min(now.oldest_ms, StartMs(*batch));
    now.newest_ms = std::max(now.newest_ms, EndMs(*batch));
  }
  return now;
}

}  // namespace stackray
