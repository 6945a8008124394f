#include "agent/daemon/page_source.h"

#include <malloc.h>
#include <time.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/daemon/metrics_text.h"
#include "agent/sampling/session_settings.h"
#include "kernel/wall_clock.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_profile.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kProfileBytes = size_t{5}
                                 << 19;  // Of one answer, 2.5 MiB; beyond it rare stacks are cut.
// A loop that has said nothing for so long is stuck. By a clock that does not jump.
constexpr uint64_t kStaleNs = 60'000'000'000;

uint64_t ThreadCpuNs() {
  timespec cpu = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(cpu.tv_nsec);
}

// What the history misses, or, without one, what was lost before any sink.
uint64_t LostToThePage(const AgentSnapshot& now) {
  for (const TakerCounts& taker : now.takers)
    if (taker.name == kHistoryTaker) return taker.lost_in_all();
  return now.session.counts.lost();
}

}  // namespace

void HistoryPageSource::SetHistory(std::shared_ptr<History> history) {
  const std::lock_guard lock(mutex_);
  history_ = std::move(history);
}

std::shared_ptr<History> HistoryPageSource::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

absl::StatusOr<std::string> HistoryPageSource::ProfileGzip(int64_t from_ms, int64_t to_ms,
                                                           std::stop_token stop) {
  const uint64_t before_ns = ThreadCpuNs();
  absl::StatusOr<std::string> document = MakeProfile(from_ms, to_ms, stop);
  malloc_trim(0);  // An answer takes some MiB for a moment; give them back.
  answers_cpu_ns_ += ThreadCpuNs() - before_ns;
  return document;
}

absl::StatusOr<std::string> HistoryPageSource::MakeProfile(int64_t from_ms, int64_t to_ms,
                                                           std::stop_token stop) {
  const std::shared_ptr<History> kept = history();
  if (kept == nullptr) return absl::UnavailableError("this agent keeps no local history");
  PageProfile profile({.max_bytes = kProfileBytes,
                       .from_unix_ns = from_ms * kNsPerMs,
                       .to_unix_ns = to_ms * kNsPerMs});
  kept->Query(from_ms, to_ms, [&](std::string_view bytes) {
    const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(bytes);
    if (batch.ok()) profile.Add(*batch);
    return !stop.stop_requested();
  });
  if (stop.stop_requested()) return absl::UnavailableError("the agent is stopping");
  profile.Finish();
  absl::StatusOr<GzipStream> gzip = GzipStream::Create(1);
  if (!gzip.ok()) return gzip.status();
  const absl::Status written =
      WritePageData(profile, {.title = board_.Latest()->host, .summary = profile.summary()},
                    [&](std::string_view part) { return gzip->Add(part); });
  return written.ok() ? gzip->Finish() : written;
}

std::string HistoryPageSource::StatusJson() {
  const AgentSnapshotPtr now = board_.Latest();
  const std::shared_ptr<History> kept = history();
  const HistoryStatistics times = kept == nullptr ? HistoryStatistics{} : kept->statistics();
  const SessionCounts& session = now->session.counts;
  const nlohmann::json status = {
      {"version", kAgentVersion},          {"host", now->host},
      {"frequency_hz", now->frequency_hz}, {"oldest_ms", times.oldest_ms},
      {"newest_ms", times.newest_ms},      {"samples_total", session.loop.samples},
      {"lost_total", LostToThePage(*now)}};
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string HistoryPageSource::MetricsText() { return stackray::MetricsText(*board_.Latest()); }

absl::Status HistoryPageSource::Health() {
  if (BootTimeNs() - board_.Latest()->boot_time_ns > kStaleNs)
    return absl::UnavailableError("the sampling loop has not answered for a minute");
  return absl::OkStatus();
}

}  // namespace stackray
