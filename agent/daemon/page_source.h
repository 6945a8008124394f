// What the local page shows: documents made from the history's sealed batches, numbers from the last
// snapshot.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
#define STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "agent/daemon/agent_snapshot.h"
#include "agent/history/history.h"
#include "agent/web_server/page_data_source.h"

namespace stackray {

// Threads: SetSnapshot() from the agent's loop, the rest from the server's workers.
class HistoryPageSource final : public PageDataSource {
 public:
  // `history` outlives this.
  HistoryPageSource(History& history, std::string host, double frequency_hz);

  void SetSnapshot(AgentSnapshot snapshot);

  absl::StatusOr<std::string> ProfileJson(int64_t from_ms, int64_t to_ms,
                                          std::stop_token stop) override;
  std::string StatusJson() override;
  std::string MetricsText() override;
  absl::Status Health() override;

 private:
  absl::StatusOr<std::string> MakeProfile(int64_t from_ms, int64_t to_ms, std::stop_token stop);
  AgentSnapshot snapshot() const;

  History& history_;
  const std::string host_;
  const double frequency_hz_;
  mutable std::mutex mutex_;
  AgentSnapshot snapshot_;  // Guarded by mutex_.
  int64_t snapshot_ms_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
