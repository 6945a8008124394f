#include "agent/daemon/page_source.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "agent/daemon/metrics_text.h"
#include "agent/daemon/source_texts.h"
#include "agent/sampling/session_settings.h"
#include "kernel/wall_clock.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_profile.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// Of a page to be saved; beyond it rare stacks are cut.
constexpr size_t kProfileBytes = size_t{16} << 20;
// Between two indexes that are made: a segment of a busy host takes half a second of CPU.
constexpr std::chrono::seconds kIndexPause{5};
constexpr size_t kMostTargetBytes = 200;
// Not more: this thread shares the heap's locks with those that take samples. One of nice 19 that
// loses its CPU while it holds such a lock comes back after seconds where the host is busy.
constexpr int kIndexerNice = 5;
constexpr uint64_t kTrimPauseNs = 2'000'000'000;
constexpr uint64_t kForgetAfterNs = 120'000'000'000;
// A loop that has said nothing for so long is stuck. By a clock that does not jump.
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kStaleNs = 60 * kNsPerSecond, kLongestTurnNs = 4 * kNsPerSecond;

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

HistoryPageSource::HistoryPageSource(const SnapshotBoard& board)
    : board_(board), indexer_([this](std::stop_token stop) { KeepIndexed(std::move(stop)); }) {
  pthread_setname_np(indexer_.native_handle(), "stackray-index");
}

HistoryPageSource::~HistoryPageSource() { SetHistory(nullptr); }

void HistoryPageSource::SetHistory(std::shared_ptr<History> history, std::string state_dir) {
  reports_.SetStateDirectory(state_dir);
  captures_.SetStateDirectory(std::move(state_dir));
  {
    const std::lock_guard lock(mutex_);
    history_stop_.request_stop();
    history_stop_ = std::stop_source();
    history_ = std::move(history);
  }
  changed_.notify_all();
}

void HistoryPageSource::KeepIndexed(std::stop_token stop) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kIndexerNice);
  std::set<std::string> of_several_indexes;  // Runs.
  while (!stop.stop_requested()) {
    std::shared_ptr<History> kept;
    std::stop_token history_stop;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, kIndexPause, [&] { return stop.stop_requested(); });
      kept = history_;
      history_stop = history_stop_.get_token();
    }
    if (stop.stop_requested() || kept == nullptr) continue;
    const uint64_t before_ns = ThreadCpuNs();
    const bool made = IndexOneRun(*kept, history_stop, &of_several_indexes);
    views_.DropGone(*kept);
    kept.reset();
    const bool idle = !views_.empty() && BootTimeNs() - asked_boot_ns_ > kForgetAfterNs;
    if (idle) views_.Forget();
    if (made || idle || grew_) Trim();
    answers_cpu_ns_ += ThreadCpuNs() - before_ns;
  }
}

void HistoryPageSource::Trim() {
  grew_ = false;
  trimmed_boot_ns_ = BootTimeNs();
  malloc_trim(0);
}

void HistoryPageSource::TrimSoon() {
  grew_ = true;
  if (BootTimeNs() - trimmed_boot_ns_ > kTrimPauseNs) Trim();
}

std::shared_ptr<History> HistoryPageSource::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

absl::StatusOr<std::string> HistoryPageSource::ViewGzip(std::string_view query,
                                                        std::stop_token stop) {
  const absl::StatusOr<PageQuestion> question = ParsePageQuestion(query);
  if (!question.ok()) return question.status();
  std::shared_ptr<History> kept = history();
  if (kept == nullptr) return absl::UnavailableError("this agent keeps no local history");
  if (!question->capture.empty()) {
    absl::StatusOr<std::shared_ptr<History>> capture = captures_.Open(question->capture);
    if (!capture.ok()) return capture.status();
    kept = *std::move(capture);
  }
  const uint64_t before_ns = ThreadCpuNs();
  asked_boot_ns_ = BootTimeNs();
  const std::string host = board_.Latest()->host;
  SourceTexts sources;
  PageAnswerOptions options{.title = question->capture.empty()
                                         ? host
                                         : Concat("capture ", question->capture, " of ", host),
                            .cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                            .source_text = {}};
  if (shows_source_)
    options.source_text = [&](std::string_view file, uint32_t line,
                              const std::vector<PageProcess>& processes) {
      return sources.Line(file, line, processes);
    };
  absl::StatusOr<std::string> answer = views_.Answer(*kept, *question, options, stop);
  TrimSoon();
  answers_cpu_ns_ += ThreadCpuNs() - before_ns;
  return answer;
}

absl::StatusOr<std::string> HistoryPageSource::ProfileGzip(int64_t from_ms, int64_t to_ms,
                                                           std::stop_token stop) {
  const uint64_t before_ns = ThreadCpuNs();
  const std::shared_ptr<History> kept = history();
  absl::StatusOr<std::string> document = MakeProfile(kept.get(), from_ms, to_ms, stop);
  TrimSoon();
  answers_cpu_ns_ += ThreadCpuNs() - before_ns;
  return document;
}

absl::StatusOr<std::string> HistoryPageSource::CaptureProfileGzip(const std::string& name,
                                                                  const std::stop_token& stop) {
  const absl::StatusOr<std::shared_ptr<History>> capture = captures_.Open(name);
  if (!capture.ok()) return capture.status();
  const uint64_t before_ns = ThreadCpuNs();
  absl::StatusOr<std::string> document = MakeProfile(capture->get(), 0, INT64_MAX / kNsPerMs, stop);
  TrimSoon();
  answers_cpu_ns_ += ThreadCpuNs() - before_ns;
  return document;
}

absl::StatusOr<std::string> HistoryPageSource::MakeProfile(History* kept, int64_t from_ms,
                                                           int64_t to_ms, std::stop_token stop) {
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
      WritePageData(profile,
                    {.title = board_.Latest()->host,
                     .summary = profile.summary(),
                     .note = {},
                     .cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))},
                    [&](std::string_view part) { return gzip->Add(part); });
  return written.ok() ? gzip->Finish() : written;
}

namespace {

// For the list in the page's header.
nlohmann::json CapturesJson(const std::vector<CaptureRecord>& records) {
  nlohmann::json list = nlohmann::json::array();
  for (const CaptureRecord& record : records) {
    std::string targets = DescribeTargets(record.spec);
    if (targets.size() > kMostTargetBytes) targets.resize(kMostTargetBytes);
    list.push_back({{"name", record.spec.name},
                    {"target", targets},
                    {"frequency_hz", record.spec.frequency_hz},
                    {"running", record.is_running()},
                    {"started_ms", record.started_unix_ns / kNsPerMs},
                    {"ended_ms", record.is_running() ? 0 : record.ended_unix_ns / kNsPerMs},
                    {"samples", record.samples}});
  }
  return list;
}

}  // namespace

std::string HistoryPageSource::StatusJson() {
  const AgentSnapshotPtr now = board_.Latest();
  const std::shared_ptr<History> kept = history();
  const HistoryStatistics times = kept == nullptr ? HistoryStatistics{} : kept->statistics();
  const SessionCounts& session = now->session.counts;
  const PageViews::Progress made = views_.progress();
  const nlohmann::json status = {{"version", kAgentVersion},
                                 {"host", now->host},
                                 {"frequency_hz", now->frequency_hz},
                                 {"oldest_ms", times.oldest_ms},
                                 {"newest_ms", times.newest_ms},
                                 {"samples_total", session.loop.samples},
                                 {"lost_total", LostToThePage(*now)},
                                 {"captures", CapturesJson(captures_.List())},
                                 {"answering", {{"done", made.done}, {"all", made.all}}}};
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string HistoryPageSource::MetricsText() { return stackray::MetricsText(*board_.Latest()); }

absl::Status HistoryPageSource::Health() {
  const uint64_t now_ns = BootTimeNs(), turn_ns = board_.last_turn_ns();
  if (turn_ns != 0 && now_ns > turn_ns + kLongestTurnNs)
    return absl::UnavailableError(
        fmt::format("the sampling loop stands since {} s", (now_ns - turn_ns) / kNsPerSecond));
  if (now_ns - board_.Latest()->boot_time_ns > kStaleNs)
    return absl::UnavailableError("the sampling loop has not answered for a minute");
  return absl::OkStatus();
}

}  // namespace stackray
