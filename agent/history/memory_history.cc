#include "agent/history/memory_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stackray {
MemoryHistory::MemoryHistory(HistorySettings settings)
    : settings_(std::move(settings)),
      clock_(settings_),
      max_bytes_(std::min(settings_.max_bytes, settings_.memory_bytes)) {}

void MemoryHistory::Trim(uint64_t incoming_bytes) {
  batches_.Trim(clock_.NowMs() - settings_.max_age_ms, max_bytes_ - incoming_bytes, &counts_);
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
  batches_.Add(batch, clock_.NowMs());
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
    batches_.Find(from_ms, to_ms, &wanted);
  }
  uint64_t visited = 0;
  for (const SealedBatchPtr& batch : wanted) {
    ++visited;
    if (!visit(batch->bytes)) break;
  }
  return visited;
}

// Runs begin at whole multiples of their length, counted from the first batch that there ever was,
// so that a run keeps its name until its first batch is dropped.
std::vector<HistoryRun> MemoryHistory::Runs(int64_t from_ms, int64_t to_ms) {
  std::vector<HistoryRun> runs;
  const std::lock_guard lock(mutex_);
  Trim(0);
  batches_.EachBatch([&](uint64_t number, const SealedBatch& batch) {
    const int64_t start_ms = batch.start_unix_ns / 1'000'000;
    const int64_t end_ms = (batch.start_unix_ns + batch.duration_ns) / 1'000'000;
    if (runs.empty() || number % HistoryRun::kBatches == 0)
      runs.push_back({.segment = "memory", .first = number, .start_ms = start_ms});
    HistoryRun& run = runs.back();
    ++run.count;
    run.start_ms = std::min(run.start_ms, start_ms);
    run.end_ms = std::max(run.end_ms, end_ms);
  });
  std::erase_if(
      runs, [&](const HistoryRun& run) { return run.start_ms >= to_ms || run.end_ms < from_ms; });
  for (HistoryRun& run : runs)
    run.name = fmt::format("{}/{}+{}", run.segment, run.first, run.count);
  return runs;
}

uint64_t MemoryHistory::Visit(const HistoryRun& run,
                              const std::function<bool(std::string_view)>& visit) {
  std::vector<SealedBatchPtr> wanted;
  {
    const std::lock_guard lock(mutex_);
    batches_.FindNumbers(run.first, run.count, &wanted);
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
  batches_.AddTo(&now);
  now.bytes = now.memory_bytes;
  return now;
}

}  // namespace stackray
