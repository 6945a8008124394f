// The local history as the agent runs it: opened, fed, replaced when its settings change, and its counts, which
// go on over all that.
// Threads: one; the page's requests hold the history while they read.
#ifndef STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_
#define STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_

#include <memory>
#include <optional>

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

  // What the settings ask for; nothing happens where that is there already. `now`: what the session had done.
  // Errors: FailedPrecondition: another process has the directory open; there is no history then.
  absl::Status Apply(const AgentSettings& settings, const SessionMark& now);
  void Close();

  // A failure is logged, once.
  void Append(const SealedBatchPtr& batch);

  bool open() const { return history_ != nullptr; }
  // What a history in memory may hold by its settings; 0: it is on disk, or there is none.
  uint64_t memory_bytes() const;
  void LimitMemory(uint64_t bytes);
  const SessionMark& since() const { return since_; }
  // Those of its predecessors included; nothing where there is none.
  std::optional<HistoryStatistics> statistics() const;

 private:
  HistoryPageSource& page_;
  std::shared_ptr<History> history_;
  HistorySettings settings_;
  SessionMark since_;
  HistoryStatistics before_;  // Counts alone.
  bool failing_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_LOCAL_HISTORY_H_
