// The agent's numbers of one moment. /metrics, the page and `agent --status` are made from this and
// from nothing else, so they agree wherever they show the same sequence number.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_
#define STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/captures/captures_status.h"
#include "agent/daemon/envelope_status.h"
#include "agent/daemon/heartbeat.h"
#include "agent/daemon/session_totals.h"
#include "agent/doctor/port_owner.h"
#include "agent/history/history.h"
#include "agent/reports/reports_status.h"
#include "agent/settings/settings.h"
#include "kernel/foreign/foreign_reads.h"
#include "reporter/export/delivery_counts.h"
#include "reporter/traces/tracer.h"

namespace stackray {

// What became of the samples that one sink of batches, a receiver or the history, was to have.
// Exactly: due = delivered + lost, all reasons + in_flight. Markers of lost samples count nowhere:
// they travel, but nobody produced them.
struct TakerCounts {
  std::string name;
  uint64_t due = 0;  // Produced since it is there, and what an earlier process left for it on disk.
  uint64_t delivered = 0;
  uint64_t in_flight = 0;                              // Ring, open batch, queue, spool.
  std::vector<std::pair<std::string, uint64_t>> lost;  // By reason, zeros included.

  uint64_t lost_in_all() const;
};

inline constexpr std::string_view kHistoryTaker = "history";  // No receiver is called so.

TakerCounts ReceiverTaker(std::string name, const SessionCounts& session, const TakerSpan& span,
                          const DeliveryCounts& counts);
TakerCounts HistoryTaker(const SessionCounts& session, const TakerSpan& span,
                         const HistoryStatistics& history);

struct ReceiverSnapshot {
  std::string name, endpoint;
  DeliveryCounts counts;
};

// Of the agent's own traces. made = dropped + waiting + what the receiver's queue has produced.
struct TracesSnapshot {
  std::string endpoint;
  DeliveryCounts counts;  // In spans.
  TracerCounts spans;
};

using OwnedBytes = std::vector<std::pair<std::string_view, uint64_t>>;

struct AgentSnapshot {
  uint64_t sequence = 0;  // From 1.
  int64_t time_unix_ms = 0;
  uint64_t boot_time_ns = 0;  // That moment by a clock that does not jump.
  double uptime_seconds = 0;
  double cpu_seconds = 0;  // Of this process, user and system.
  SessionTotals session;
  std::vector<TakerCounts> takers;
  std::vector<ReceiverSnapshot> receivers;
  std::optional<HistoryStatistics> history;
  std::string history_failing_with;  // Empty: the disk takes what it gets, or there is none.
  OwnedBytes memory;  // By owner; "resident" and "anonymous" are sums, the others their parts.
  OwnedBytes disk;
  EnvelopeStatus envelope;
  CapturesStatus captures;
  ReportsStatus reports;
  std::optional<TracesSnapshot> traces;  // Nothing: they are off.
  ForeignReadCounts foreign_reads;
  uint64_t log_lines_held_back = 0;
  std::optional<UncleanStop> unclean_stop;  // Of the agent before this one.
  std::string page_url;  // With its token, so for the agent's owner alone. Empty: there is no page.
  std::optional<doctor::PortHolder> page_port_holder;  // Of the port that was wanted and not got.
  std::string host, target;
  uint32_t frequency_hz = 0;
  std::shared_ptr<const std::vector<EffectiveSetting>> settings;
};
using AgentSnapshotPtr = std::shared_ptr<const AgentSnapshot>;

// cpu_seconds, and resident and anonymous memory (VmRSS and RssAnon of /proc/self/status).
void ReadOwnCosts(AgentSnapshot* snapshot);
// The parts of memory and disk that `snapshot` knows already.
void AddOwners(AgentSnapshot* snapshot);

// Where the loop leaves its last snapshot for the servers. Threads: any.
class SnapshotBoard {
 public:
  void Put(AgentSnapshotPtr snapshot) {
    const std::lock_guard lock(mutex_);
    latest_ = std::move(snapshot);
  }
  AgentSnapshotPtr Latest() const {  // Never nullptr.
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  // The loop begins another turn; it does so twice a second.
  void Turn(uint64_t boot_time_ns) { turn_ns_.store(boot_time_ns, std::memory_order_relaxed); }
  // When it did so last; 0: it has not begun.
  uint64_t last_turn_ns() const { return turn_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> turn_ns_{0};
  mutable std::mutex mutex_;
  AgentSnapshotPtr latest_ = std::make_shared<AgentSnapshot>();
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_SNAPSHOT_H_
