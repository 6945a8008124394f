#include "agent/daemon/local_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "agent/daemon/loss_batch.h"
#include "agent/log.h"

namespace stackray {
namespace {

// A request that reads while the history is replaced is done long before.
constexpr std::chrono::seconds kReaderLimit{5};

bool Same(const HistorySettings& a, const HistorySettings& b) {
  return a.state_dir == b.state_dir && a.max_bytes == b.max_bytes && a.max_age_ms == b.max_age_ms;
}

void AddCounts(const HistoryStatistics& from, HistoryStatistics* to) {
  to->appended_batches += from.appended_batches;
  to->appended_samples += from.appended_samples;
  to->appended_markers += from.appended_markers;
  to->expired_batches += from.expired_batches;
  to->evicted_batches += from.evicted_batches;
  to->failed_batches += from.failed_batches;
  to->failed_samples += from.failed_samples;
  to->failed_markers += from.failed_markers;
  to->damaged_bytes += from.damaged_bytes;
  to->read_errors += from.read_errors;
}

}  // namespace

absl::Status LocalHistory::Apply(const AgentSettings& settings, const SessionMark& now) {
  const HistorySettings wanted{.state_dir = settings.state_dir,
                               .max_bytes = settings.history_bytes,
                               .max_age_ms = settings.history_age_ms,
                               .now_ms = {}};
  page_.ShowSource(settings.page_source);
  if (!settings.page) {
    Close();
    return absl::OkStatus();
  }
  if (open() && Same(settings_, wanted)) return absl::OkStatus();
  const bool goes_on = open();
  HistoryStatistics before;
  if (goes_on) before = *statistics();
  const SessionMark since = goes_on ? since_ : now;
  Close();
  absl::StatusOr<OpenedHistory> opened = OpenHistory(wanted);
  if (!opened.ok()) return opened.status();
  for (const std::string& warning : opened->warnings) LogWarning(warning);
  settings_ = wanted;
  since_ = since;
  before_ = before;
  history_ = std::move(opened->history);
  page_.SetHistory(history_, settings.state_dir);
  return absl::OkStatus();
}

void LocalHistory::Close() {
  page_.SetHistory(nullptr);
  const auto until = std::chrono::steady_clock::now() + kReaderLimit;
  while (history_.use_count() > 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  history_.reset();
  before_ = {};
}

void LocalHistory::Append(const SealedBatchPtr& batch) {
  if (!open()) return;
  const absl::Status status = history_->Append(batch);
  if (!status.ok()) {
    if (not_stored_ == 0)
      LogError("local history: samples are not stored: " + std::string(status.message()), "append");
    not_stored_ += batch->samples - batch->lost_samples;
    untold_not_stored_ += batch->samples - batch->lost_samples;
    return;
  }
  if (const uint64_t lost = std::exchange(not_stored_, 0); lost != 0)
    LogWarning(fmt::format("local history: stored again; {} samples were not", lost), "again");
  LogDisk();
}

void LocalHistory::LogDisk() {
  const std::string why = history_->failing_with();
  if (why.empty() == !disk_fails_) return;
  disk_fails_ = !why.empty();
  if (disk_fails_) {
    LogWarning("local history: the newest batches stay in memory: " + why, "disk");
  } else {
    LogInfo("local history: all of it is on disk again");
  }
}

void LocalHistory::SendLosses(const BatchSettings& settings, int64_t now_unix_ns) {
  if (!open() || untold_not_stored_ == 0) return;
  const SealedBatchPtr marker = MakeNotStoredBatch(settings, untold_not_stored_, now_unix_ns);
  if (history_->Append(marker).ok()) untold_not_stored_ = 0;
}

std::string LocalHistory::failing_with() const { return open() ? history_->failing_with() : ""; }

uint64_t LocalHistory::memory_bytes() const {
  if (!open() || history_->statistics().on_disk) return 0;
  return std::min(settings_.max_bytes, settings_.memory_bytes);
}

void LocalHistory::LimitMemory(uint64_t bytes) {
  if (open()) history_->LimitMemory(bytes);
}

std::optional<HistoryStatistics> LocalHistory::statistics() const {
  if (!open()) return std::nullopt;
  HistoryStatistics statistics = history_->statistics();
  AddCounts(before_, &statistics);
  return statistics;
}

}  // namespace stackray
