// What the agent's web server shows: the page's documents, made from the history's sealed batches
// where there is one, and numbers from the last snapshot.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
#define STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/page_captures.h"
#include "agent/daemon/page_reports.h"
#include "agent/daemon/page_views.h"
#include "agent/history/history.h"
#include "agent/web_server/page_data_source.h"

namespace stackray {

// Threads: SetHistory() from the agent's loop, the rest from the server's workers; one of its own,
//          "stackray-index".
class HistoryPageSource final : public PageDataSource {
 public:
  // `board` outlives this.
  explicit HistoryPageSource(const SnapshotBoard& board);

  // nullptr: there is no page. A request that runs keeps the old history until it is done.
  // `state_dir`: where captures are.
  void SetHistory(std::shared_ptr<History> history, std::string state_dir = {});

  // Whether answers may have lines of source files (source_texts.h).
  void ShowSource(bool allowed) { shows_source_ = allowed; }

  bool HasPage() override { return history() != nullptr; }
  ~HistoryPageSource() override;

  absl::StatusOr<std::string> ViewGzip(std::string_view query, std::stop_token stop) override;
  absl::StatusOr<std::string> ProfileGzip(int64_t from_ms, int64_t to_ms,
                                          std::stop_token stop) override;
  absl::StatusOr<std::string> CaptureProfileGzip(const std::string& name,
                                                 const std::stop_token& stop) override;
  std::string ReportsJson() override { return reports_.ListJson(); }
  std::string ReportsHtml() override { return reports_.ListHtml(); }
  absl::StatusOr<UniqueFd> OpenReport(const std::string& name) override {
    return reports_.Open(name);
  }
  absl::StatusOr<std::string> ReportPage(const std::string& name) override {
    return reports_.Page(name);
  }
  std::string StatusJson() override;
  std::string MetricsText() override;
  absl::Status Health() override;

  uint64_t answers_cpu_ns() const { return answers_cpu_ns_; }  // CPU time of all answers so far.

 private:
  absl::StatusOr<std::string> MakeProfile(History* kept, int64_t from_ms, int64_t to_ms,
                                          std::stop_token stop);
  std::shared_ptr<History> history() const;

  const SnapshotBoard& board_;
  std::atomic<uint64_t> answers_cpu_ns_{0};
  // Makes indexes of what the history has, at a low priority, and drops what the page no longer
  // needs.
  void KeepIndexed(std::stop_token stop);
  // An answer takes some MiB for a moment; gives them back. The heap is locked meanwhile, so of
  // answers that follow each other the last is trimmed, by the indexer at the latest.
  void Trim();
  void TrimSoon();

  PageViews views_;
  PageCaptures captures_;
  PageReports reports_;
  std::atomic<uint64_t> asked_boot_ns_{0};  // When the last question came.
  std::atomic<uint64_t> trimmed_boot_ns_{0};
  std::atomic<bool> grew_{false};  // Since then.
  std::atomic<bool> shows_source_{false};
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<History> history_;  // Guarded by mutex_.
  std::stop_source history_stop_;     // Of what is done with it; guarded by mutex_.
  std::jthread indexer_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_SOURCE_H_
