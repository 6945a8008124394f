// What the agent's web server shows: the page's documents, made from the history's sealed batches
// where there is one, and numbers from the last snapshot.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
#define STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "agent/daemon/agent_snapshot.h"
#include "agent/history/history.h"
#include "agent/web_server/page_data_source.h"

namespace stackray {

// Threads: SetHistory() from the agent's loop, the rest from the server's workers.
class HistoryPageSource final : public PageDataSource {
 public:
  // `board` outlives this.
  explicit HistoryPageSource(const SnapshotBoard& board) : board_(board) {}

  // nullptr: there is no page. A request that runs keeps the old history until it is done.
  void SetHistory(std::shared_ptr<History> history);

  bool HasPage() override { return history() != nullptr; }
  absl::StatusOr<std::string> ProfileGzip(int64_t from_ms, int64_t to_ms,
                                          std::stop_token stop) override;
  std::string StatusJson() override;
  std::string MetricsText() override;
  absl::Status Health() override;

  uint64_t answers_cpu_ns() const { return answers_cpu_ns_; }  // CPU time of all answers so far.

 private:
  absl::StatusOr<std::string> MakeProfile(int64_t from_ms, int64_t to_ms, std::stop_token stop);
  std::shared_ptr<History> history() const;

  const SnapshotBoard& board_;
  std::atomic<uint64_t> answers_cpu_ns_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<History> history_;  // Guarded by mutex_.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
