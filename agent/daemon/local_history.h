// The local history as the agent runs it: opened, fed, replaced when its settings change, and its
// counts, which go on over all that.
// Threads: one; the page's requests hold the history while they read.
#ifndef STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_
#define STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/daemon/page_source.h"
#include "agent/daemon/session_totals.h"
#include "agent/history/history.h"
#include "agent/settings/settings.h"

namespace stackray {

class LocalHistory {
 public:
  // `page` outlives this and shows what there is.
  explicit LocalHistory(HistoryPageSource& page) : page_(page) {}

  // What the settings ask for; nothing happens where that is there already. `now`: what the session
  // had done. Errors: FailedPrecondition: another process has the directory open; there is no
  // history then.
  absl::Status Apply(const AgentSettings& settings, const SessionMark& now);
  void Close();

  // What the disk or the bounds refuse is logged when it begins and when it ends.
  void Append(const SealedBatchPtr& batch);
  // Samples that were not stored become a marker of the history.
  void SendLosses(const BatchSettings& settings, int64_t now_unix_ns);
  std::string failing_with() const;  // Of the disk; empty: it takes what it gets.

  // For readers on other threads; nullptr: there is none.
  std::shared_ptr<History> shared() const { return history_; }
  bool open() const { return history_ != nullptr; }
  // What a history in memory may hold by its settings; 0: it is on disk, or there is none.
  uint64_t memory_bytes() const;
  void LimitMemory(uint64_t bytes);
  const SessionMark& since() const { return since_; }
  // Those of its predecessors included; nothing where there is none.
  std::optional<HistoryStatistics> statistics() const;

 private:
  void LogDisk();

  HistoryPageSource& page_;
  std::shared_ptr<History> history_;
  HistorySettings settings_;
  SessionMark since_;
  HistoryStatistics before_;  // Counts alone.
  bool disk_fails_ = false;
  uint64_t not_stored_ = 0;         // Samples since batches are refused; 0: they are not.
  uint64_t untold_not_stored_ = 0;  // Of all such samples, those without a marker.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_
