#include "agent/daemon/page_source.h"

#include <malloc.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/sampling/session_settings.h"
#include "reporter/decoded_batch.h"
#include "reporter/formats/page_data.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kViewBytes = size_t{64} << 20;  // Of one answer; beyond it stacks are merged.
constexpr int64_t kStaleMs = 60'000;  // A loop that has said nothing for so long is stuck.

}  // namespace

HistoryPageSource::HistoryPageSource(History& history, std::string host, double frequency_hz)
    : history_(history),
      host_(std::move(host)),
      frequency_hz_(frequency_hz),
      snapshot_ms_(SystemNowMs()) {}

void HistoryPageSource::SetSnapshot(AgentSnapshot snapshot) {
  std::lock_guard<std::mutex> lock(mutex_);
  snapshot_ = std::move(snapshot);
  snapshot_ms_ = SystemNowMs();
}

AgentSnapshot HistoryPageSource::snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return snapshot_;
}

absl::StatusOr<std::string> HistoryPageSource::ProfileJson(int64_t from_ms, int64_t to_ms,
                                                           std::stop_token stop) {
  absl::StatusOr<std::string> json = MakeProfile(from_ms, to_ms, stop);
  malloc_trim(0);  // An answer takes tens of MiB for a moment; give them back.
  return json;
}

absl::StatusOr<std::string> HistoryPageSource::MakeProfile(int64_t from_ms, int64_t to_ms,
                                                           std::stop_token stop) {
  ProfileView view({.max_bytes = kViewBytes,
                    .first_bucket_ms = 1000,
                    .from_unix_ns = from_ms * kNsPerMs,
                    .to_unix_ns = to_ms * kNsPerMs});
  SummaryCounter summary;
  history_.Query(from_ms, to_ms, [&](std::string_view bytes) {
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(bytes);
    if (batch.ok()) {
      view.Add(*batch);
      summary.Add(*batch);
    }
    return !stop.stop_requested();
  });
  if (stop.stop_requested()) return absl::UnavailableError("the agent is stopping");
  return PageData(view, {.title = host_, .summary = summary.summary()});
}

std::string HistoryPageSource::StatusJson() {
  const HistoryStatistics history = history_.statistics();
  const AgentSnapshot now = snapshot();
  const nlohmann::json status = {
      {"version", kAgentVersion},        {"host", host_},
      {"frequency_hz", frequency_hz_},   {"oldest_ms", history.oldest_ms},
      {"newest_ms", history.newest_ms},  {"samples_total", now.session.loop.samples},
      {"lost_total", now.session.lost()}};
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string HistoryPageSource::MetricsText() { return stackray::MetricsText(snapshot()); }

absl::Status HistoryPageSource::Health() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (SystemNowMs() - snapshot_ms_ > kStaleMs)
    return absl::UnavailableError("the sampling loop has not answered for a minute");
  return absl::OkStatus();
}

}  // namespace stackray
