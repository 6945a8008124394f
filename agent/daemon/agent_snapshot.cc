#include "agent/daemon/agent_snapshot.h"

#include <time.h>

#include <fstream>
#include <sstream>

namespace stackray {
namespace {

// What every sink misses alike: samples that never reached a batch.
TakerCounts BeforeTaker(std::string name, const SessionCounts& session, const TakerSpan& span) {
  const SessionMark &since = span.since, now = span.until.value_or(MarkOf(session));
  TakerCounts taker;
  taker.name = std::move(name);
  taker.due = (span.until ? now.settled() : session.produced) - since.settled();
  taker.in_flight = span.until ? 0 : session.in_flight;
  taker.lost = {{"ring full", now.ring_full - since.ring_full},
                {"scratch busy", now.scratch_busy - since.scratch_busy},
                {"damaged record", now.damaged_records - since.damaged_records}};
  return taker;
}

}  // namespace

uint64_t TakerCounts::lost_in_all() const {
  uint64_t sum = 0;
  for (const auto& [reason, samples] : lost) sum += samples;
  return sum;
}

TakerCounts ReceiverTaker(std::string name, const SessionCounts& session, const TakerSpan& span,
                          const DeliveryCounts& counts) {
  TakerCounts taker = BeforeTaker(std::move(name), session, span);
  taker.due += counts.recovered.without_markers();
  taker.due += span.until.value_or(MarkOf(session)).sent_captures - span.since.sent_captures;
  taker.delivered = counts.delivered.without_markers();
  taker.in_flight += counts.in_flight.without_markers();
  for (size_t i = 0; i < kLossReasons; ++i)
    taker.lost.emplace_back(LossReasonName(static_cast<LossReason>(i)),
                            counts.lost[i].without_markers());
  return taker;
}

TakerCounts HistoryTaker(const SessionCounts& session, const TakerSpan& span,
                         const HistoryStatistics& history) {
  TakerCounts taker = BeforeTaker(std::string(kHistoryTaker), session, span);
  taker.delivered = history.appended_samples - history.appended_markers;
  taker.lost.emplace_back("not stored", history.failed_samples - history.failed_markers);
  return taker;
}

void ReadOwnCosts(AgentSnapshot* snapshot) {
  timespec cpu = {};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
    snapshot->cpu_seconds =
        static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t kibibytes = 0;
    if (!(words >> key >> kibibytes)) continue;
    if (key == "VmRSS:") snapshot->memory.emplace_back("resident", kibibytes * 1024);
    if (key == "RssAnon:") snapshot->memory.emplace_back("anonymous", kibibytes * 1024);
  }
}

void AddOwners(AgentSnapshot* snapshot) {
  const SessionCounts& session = snapshot->session.counts;
  uint64_t queues = 0, spools = 0;
  for (const ReceiverSnapshot& receiver : snapshot->receivers) {
    queues += receiver.counts.queued_bytes;
    spools += receiver.counts.spooled_bytes;
  }
  if (snapshot->traces) {
    queues += snapshot->traces->counts.queued_bytes;
    spools += snapshot->traces->counts.spooled_bytes;
  }
  snapshot->memory.emplace_back("bpf maps", session.map_bytes);
  snapshot->memory.emplace_back("unwind tables", session.tables.page_bytes);
  snapshot->memory.emplace_back("symbol caches", session.cache_bytes);
  snapshot->memory.emplace_back("queue", queues);
  const bool on_disk = snapshot->history && snapshot->history->on_disk;
  snapshot->memory.emplace_back("history", snapshot->history ? snapshot->history->memory_bytes : 0);
  snapshot->disk = {{"history", on_disk ? snapshot->history->bytes : 0}, {"spool", spools}};
}

}  // namespace stackray
