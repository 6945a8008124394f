#include "agent/daemon/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "agent/daemon/agent_requests.h"
#include "agent/daemon/seal_schedule.h"
#include "agent/log.h"
#include "agent/privileges/thread_priority.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/stop_signal.h"
#include "agent/web_server/loopback_listener.h"
#include "kernel/wall_clock.h"
#include "reporter/spool/spool_sweep.h"
#include "web/web_page.h"

namespace stackray {
namespace {

constexpr int kTurnMs = 500;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint32_t kTargetPidsOfCaptures = 4096;
constexpr uint64_t kSnapshotIntervalNs = 2'000 * kNsPerMs;  // Also between seals far apart.

// The session itself does not know how often it is sealed.
SamplingSettings OfSession(SamplingSettings sampling) {
  sampling.seal_interval_ms = 0;
  return sampling;
}

std::chrono::milliseconds FlushLimit(const AgentSettings& settings) {
  return std::chrono::milliseconds(settings.flush_timeout_ms);
}

SealSchedule::Random MakeRandom() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable {
    return std::uniform_real_distribution(0.0, 1.0)(engine);
  };
}

BatchSettings OwnBatchSettings(const AgentSettings& settings) {
  return MakeSessionSettings(settings.sampling, settings.target).loop.batch;
}

int64_t WallNs() { return static_cast<int64_t>(BootTimeNs()) + WallOffsetNs(); }

}  // namespace

Agent::Agent(AgentSettings settings) : settings_(std::move(settings)), began_ns_(BootTimeNs()) {}
Agent::~Agent() { mailbox_.SetWaker({}); }  // The session goes before the socket.

absl::StatusOr<std::unique_ptr<SamplingSession>> Agent::MakeSession(const AgentSettings& settings) {
  const int64_t began = NowUnixNs();
  SessionSettings wanted = MakeSessionSettings(settings.sampling, settings.target);
  wanted.sampler.sample_ring_bytes =
      RingBytesWithin(wanted.sampler.sample_ring_bytes, settings.bpf_memory_budget_bytes);
  if (settings.allow_captures)
    wanted.sampler.target_pids = std::max(wanted.sampler.target_pids, kTargetPidsOfCaptures);
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
      std::move(wanted), [this](const SealedBatchPtr& batch) { OnSealed(batch); });
  if (!session.ok()) return session.status();
  if (absl::Status status = ApplyTarget(settings.target, (*session)->sampler()); !status.ok())
    return status;
  for (const std::string& warning : (*session)->warnings()) LogWarning(warning);
  steps_.push_back({"load", began, NowUnixNs()});
  return session;
}

// Where there is no page, an agent without this server still does what it is there for.
absl::StatusOr<std::unique_ptr<WebServer>> Agent::MakeLocalServer(const AgentSettings& settings,
                                                                  const StateKeeper& state) {
  const auto start = [&](uint16_t port) {
    return WebServer::Start({.host = settings.listen.host,
                             .port = port,
                             .page_token = PageToken(settings, state),
                             .begin_thread = [] { PreferThisThread(); }},
                            WebPage(), page_source_);
  };
  absl::StatusOr<std::unique_ptr<WebServer>> server = start(settings.listen.port);
  // Whoever holds all the ports that are tried does not keep the agent from sampling.
  if (!server.ok() && settings.page && IsLoopbackHost(settings.listen.host) &&
      absl::IsUnavailable(server.status()))
    server = start(0);
  if (server.ok() || settings.page) return server;
  LogWarning("no /metrics on the loopback interface: " + std::string(server.status().message()));
  return nullptr;
}

absl::StatusOr<std::unique_ptr<WebServer>> Agent::MakeMetricsServer(const AgentSettings& settings) {
  if (!settings.metrics_listen) return nullptr;
  return WebServer::Start({.host = settings.metrics_listen->host,
                           .port = settings.metrics_listen->port,
                           .metrics_only = true,
                           .begin_thread = [] { PreferThisThread(); }},
                          "", page_source_);
}

std::string Agent::PageToken(const AgentSettings& settings, const StateKeeper& state) {
  return settings.page_access == PageReaders::kToken ? state.page_token() : "";
}

// Another user who listens where the page usually is gets what a browser sends there: the address
// of a bookmark, with its token.
void Agent::LookAtThePort() {
  const uint16_t wanted = settings_.listen.port;
  page_port_holder_.reset();
  if (servers_.local == nullptr || wanted == 0 || servers_.local->port() == wanted) return;
  page_port_holder_ = doctor::FindPortHolder(wanted);
  const std::string holder = page_port_holder_->Text();
  const std::string text =
      fmt::format("port {} is held by {}: {}'s is {}", wanted,
                  holder.empty() ? "somebody who cannot be told" : holder,
                  settings_.page ? "the page" : "/metrics", servers_.local->port());
  if (!page_port_holder_->foreign()) return LogInfo(text, "page port");
  const std::string warning =
      text + (settings_.page
                  ? fmt::format("; open no address of port {} that you have kept: it and its "
                                "token would go to that process. Was it opened? Delete {}/agent"
                                "/page-token, and start again",
                                wanted, settings_.state_dir)
                  : "");
  LogWarning(warning, "page port");
  if (settings_.log.format == LogFormat::kJson) return;
  fmt::print("stackray: WARNING: {}\n", warning);
}

// A journal is read by more people than the token is for. Terminals may have its variable, too.
void Agent::SayWhereThePageIs() const {
  if (servers_.local == nullptr) return;
  const WebServer& server = *servers_.local;
  if (!settings_.page)
    return LogInfo(fmt::format("metrics at {}metrics", server.url()), server.url());
  const bool json = settings_.log.format == LogFormat::kJson;
  const bool to_journal =
      std::getenv("JOURNAL_STREAM") != nullptr && isatty(json ? STDERR_FILENO : STDOUT_FILENO) == 0;
  const std::string address = to_journal ? server.url() : server.page_url();
  if (json) return LogInfo(fmt::format("flame graph of this host at {}", address), server.url());
  fmt::print("stackray: flame graph of this host at {}\n", address);
  if (address != server.page_url())
    fmt::print("stackray: the address with its token: stackray agent --status, page_url\n");
  fmt::print("stackray: {}\n", server.FromElsewhere(host_.name, !to_journal));
  std::fflush(stdout);
}

absl::Status Agent::StartSession(std::unique_ptr<SamplingSession> session) {
  session_ = std::move(session);
  mailbox_.SetWaker([this] { session_->WakeTurn(); });
  loss_batches_ = OwnBatchSettings(settings_);
  const int64_t began = NowUnixNs();
  if (absl::Status status = session_->Start(); !status.ok()) return status;
  steps_.push_back({"list", began, NowUnixNs()});
  captures_.BeginSession(*session_);
  reports_.BeginSession(*session_);
  envelope_.Configure(settings_, *session_, history_);
  LogInfo(fmt::format("sampling {} at {} Hz", DescribeTarget(settings_.target),
                      settings_.sampling.frequency_hz));
  return absl::OkStatus();
}

void Agent::EndSession() {
  captures_.EndSession();
  reports_.EndSession();
  session_->Stop();
  ended_sessions_.AddEnded(session_->Counts(), session_->sampler().ProgramCosts());
  mailbox_.SetWaker({});
  session_.reset();
}

absl::Status Agent::Start() {
  start_began_unix_ns_ = NowUnixNs();
  absl::StatusOr<std::vector<ReceiverPlan>> plans = PlanReceivers(settings_);
  if (!plans.ok()) return plans.status();
  absl::StatusOr<std::optional<TracesPlan>> traces = PlanTraces(settings_);
  if (!traces.ok()) return traces.status();
  absl::StatusOr<std::vector<ReceiverPlan>> logs = PlanReportLogs(settings_);
  if (!logs.ok()) return logs.status();
  absl::StatusOr<std::unique_ptr<StateKeeper>> state =
      StateKeeper::Start(settings_.state_dir, board_, mailbox_);
  if (!state.ok()) return state.status();
  state_ = *std::move(state);
  if (absl::Status status = history_.Apply(settings_, {}); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = MakeSession(settings_);
  if (!session.ok()) return session.status();
  absl::StatusOr<std::unique_ptr<WebServer>> metrics = MakeMetricsServer(settings_);
  if (!metrics.ok()) return metrics.status();
  absl::StatusOr<std::unique_ptr<WebServer>> local = MakeLocalServer(settings_, *state_);
  if (!local.ok()) return local.status();
  servers_ = {*std::move(local), *std::move(metrics)};
  traces_.Apply(*std::move(traces), OwnBatchSettings(settings_));
  receivers_.Apply(*std::move(plans), {}, FlushLimit(settings_));
  report_logs_.Apply(*std::move(logs), OwnBatchSettings(settings_));
  SweepSpools();
  captures_.Configure(settings_);
  reports_.Configure(settings_);
  session_ = *std::move(session);
  LookAtThePort();
  TakeSnapshot();
  SayWhereThePageIs();
  if (absl::Status status = StartSession(std::move(session_)); !status.ok()) return status;
  receivers_.SayWhereTo(settings_.sampling.seal_interval_ms);
  state_->Beat(samples_in_memory_);
  return absl::OkStatus();
}

// All that can fail, while nothing has changed yet.
absl::Status Agent::Prepare(const AgentSettings& next, std::unique_ptr<SamplingSession>* session,
                            std::unique_ptr<StateKeeper>* state, Servers* servers) {
  if (OfSession(next.sampling) != OfSession(settings_.sampling) ||
      next.target != settings_.target) {
    absl::StatusOr<std::unique_ptr<SamplingSession>> made = MakeSession(next);
    if (!made.ok()) return made.status();
    *session = *std::move(made);
  }
  if (next.state_dir != settings_.state_dir) {
    absl::StatusOr<std::unique_ptr<StateKeeper>> made =
        StateKeeper::Start(next.state_dir, board_, mailbox_);
    if (!made.ok()) return made.status();
    *state = *std::move(made);
  }
  if (next.listen != settings_.listen || servers_.local == nullptr) {
    absl::StatusOr<std::unique_ptr<WebServer>> made =
        MakeLocalServer(next, *state == nullptr ? *state_ : **state);
    if (!made.ok()) return made.status();
    servers->local = *std::move(made);
  }
  if (next.metrics_listen != settings_.metrics_listen) {
    absl::StatusOr<std::unique_ptr<WebServer>> made = MakeMetricsServer(next);
    if (!made.ok()) return made.status();
    servers->metrics = *std::move(made);
  }
  return absl::OkStatus();
}

absl::Status Agent::Reload(AgentSettings next) {
  EndStart();
  steps_.clear();
  absl::StatusOr<std::vector<ReceiverPlan>> plans = PlanReceivers(next);
  if (!plans.ok()) return plans.status();
  absl::StatusOr<std::optional<TracesPlan>> traces = PlanTraces(next);
  if (!traces.ok()) return traces.status();
  absl::StatusOr<std::vector<ReceiverPlan>> logs = PlanReportLogs(next);
  if (!logs.ok()) return logs.status();
  std::unique_ptr<SamplingSession> session;
  std::unique_ptr<StateKeeper> state;
  Servers servers;
  if (absl::Status status = Prepare(next, &session, &state, &servers); !status.ok()) return status;
  const std::string page_token = PageToken(settings_, *state_);
  const AgentSettings old = std::exchange(settings_, std::move(next));
  // The history first: it alone can still fail, and what was made above is then simply dropped.
  if (absl::Status status = history_.Apply(settings_, MarkOf(Totals().counts)); !status.ok()) {
    settings_ = old;
    (void)history_.Apply(settings_, MarkOf(Totals().counts));
    return status;
  }
  traces_.Apply(*std::move(traces), OwnBatchSettings(settings_));
  receivers_.Apply(*std::move(plans), MarkOf(Totals().counts), FlushLimit(settings_));
  report_logs_.Apply(*std::move(logs), OwnBatchSettings(settings_));
  if (state != nullptr) {
    state_->End();
    state_ = std::move(state);
  }
  captures_.Configure(settings_);
  reports_.Configure(settings_);
  const bool page_moved = servers.local != nullptr;
  if (page_moved) servers_.local = std::move(servers.local);
  const std::string token = PageToken(settings_, *state_);
  const bool token_changed = token != page_token;
  if (servers_.local != nullptr) servers_.local->SetPageToken(token);
  if (settings_.metrics_listen != old.metrics_listen) servers_.metrics = std::move(servers.metrics);
  if (session != nullptr) {
    EndSession();
    if (absl::Status status = StartSession(std::move(session)); !status.ok())
      LogError("sampling does not start again: " + std::string(status.message()));
  } else {
    envelope_.Configure(settings_, *session_, history_);
  }
  receivers_.SayWhereTo(settings_.sampling.seal_interval_ms);
  if (page_moved) LookAtThePort();
  TakeSnapshot();
  if (page_moved || token_changed || settings_.page != old.page) SayWhereThePageIs();
  return absl::OkStatus();
}

void Agent::TakeLetters() {
  for (Mailbox::Letter& letter : mailbox_.TakeAll()) {
    if (letter.request.name == kReloadRequest) {
      reloads_.push_back(std::move(letter));
    } else {
      const bool is_report = letter.request.name.starts_with("report-");
      letter.reply(is_report ? reports_.Answer(letter.request) : captures_.Answer(letter.request));
    }
  }
}

void Agent::AnswerReloads(const absl::Status& status) {
  for (const Mailbox::Letter& letter : reloads_)
    letter.reply(status.ok() ? ControlAnswer(nlohmann::ordered_json::object()) : status);
  reloads_.clear();
}

// A batch that is sealed for its size alone has no wait for source lines before its seal.
void Agent::OnSealed(const SealedBatchPtr& batch) {
  const int64_t full = batch->start_unix_ns + batch->duration_ns;
  receivers_.Add(batch, {.span = {},
                         .start_unix_ns = batch->start_unix_ns,
                         .seal_began_ns = seal_began_unix_ns_ != 0 ? seal_began_unix_ns_ : full});
  history_.Append(batch);
  reports_.OnSealed(batch);
}

void Agent::SendCapture(const SealedBatchPtr& batch, const SpanIds& capture) {
  if (receivers_.empty()) return;
  sent_capture_samples_ += batch->samples - batch->lost_samples;
  receivers_.Add(batch, {.span = {},
                         .link = capture.sampled ? capture : SpanIds(),
                         .start_unix_ns = batch->start_unix_ns,
                         .seal_began_ns = batch->start_unix_ns + batch->duration_ns});
}

// The start is over when there is something to show for it.
void Agent::LookForFirstSample() {
  if (start_began_unix_ns_ == 0 || session_->loop().counts().samples == 0) return;
  EndStart();
}

void Agent::EndStart() {
  const int64_t now = NowUnixNs();
  if (start_began_unix_ns_ == 0) return;
  if (session_->loop().counts().samples != 0 && !steps_.empty())
    steps_.push_back({"first sample", steps_.back().end_unix_ns, now});
  traces_.EndWork({"start", std::exchange(start_began_unix_ns_, 0), now}, steps_);
  steps_.clear();
}

void Agent::TraceReload(int64_t began_unix_ns, bool done) {
  OwnTraces::Step reload{"reload", began_unix_ns, NowUnixNs()};
  if (!done) reload.problem = "the settings stay as they were";
  // Steps of a start that goes on are the start's.
  const bool starts = start_began_unix_ns_ != 0;
  traces_.EndWork(reload, starts ? std::vector<OwnTraces::Step>() : std::exchange(steps_, {}));
}

// Markers have the period that is in force.
void Agent::SendLosses(bool at_the_end) {
  loss_batches_.frequency_hz = session_->limits().frequency_hz;
  receivers_.SendLosses(loss_batches_, WallNs(), at_the_end);
  history_.SendLosses(loss_batches_, WallNs());
}

void Agent::SealBatch() {
  seal_began_unix_ns_ = NowUnixNs();
  session_->Seal();
  seal_began_unix_ns_ = 0;
  SendLosses(false);
  session_->loop().LimitBatchBytes(receivers_.SizeLimit());
}

// What waits on disk for receivers that nobody configures any more does not wait for ever.
void Agent::SweepSpools() {
  if (settings_.spool_bytes == 0) return;
  std::vector<std::string> endpoints;
  for (const Receiver* receiver : receivers_.All())
    endpoints.push_back(EndpointOf(receiver->plan()));
  for (const SweptSpool& swept :
       SweepOtherSpools(settings_.state_dir + "/spool", endpoints,
                        std::chrono::milliseconds(settings_.spool_age_ms), WallNs() / 1'000'000)) {
    LogWarning(fmt::format(
        "on disk for {}, which is configured no longer: {} samples wait, {} were too old "
        "and are gone",
        swept.receiver, swept.waiting_items, swept.expired_items));
  }
}

SessionTotals Agent::Totals() {
  SessionTotals totals =
      ended_sessions_.With(session_->Counts(), session_->sampler().ProgramCosts());
  totals.counts.sent_capture_samples = sent_capture_samples_;
  return totals;
}

void Agent::TakeSnapshot(bool at_the_end) {
  auto snapshot = std::make_shared<AgentSnapshot>();
  snapshot->sequence = ++sequence_;
  snapshot->time_unix_ms = SystemNowMs();
  snapshot->boot_time_ns = BootTimeNs();
  snapshot->uptime_seconds = static_cast<double>(snapshot->boot_time_ns - began_ns_) / 1e9;
  snapshot->session = Totals();
  const SessionCounts& session = snapshot->session.counts;
  samples_in_memory_ = session.in_flight;
  snapshot->history = history_.statistics();
  snapshot->history_failing_with = history_.failing_with();
  if (snapshot->history)
    snapshot->takers.push_back(
        HistoryTaker(session, {.since = history_.since(), .until = {}}, *snapshot->history));
  for (const Receiver* receiver : receivers_.All()) {
    const DeliveryCounts counts = receiver->Counts();
    const TakerCounts taker =
        ReceiverTaker(receiver->plan().name, session, receiver->span(), counts);
    samples_in_memory_ =
        std::max(samples_in_memory_, taker.in_flight - counts.spooled.without_markers());
    snapshot->takers.push_back(taker);
    snapshot->receivers.push_back({receiver->plan().name, EndpointOf(receiver->plan()), counts});
  }
  snapshot->traces = traces_.Snapshot();
  ReadOwnCosts(snapshot.get());
  AddOwners(snapshot.get());
  snapshot->envelope = envelope_.status();
  snapshot->captures = captures_.Status();
  snapshot->reports = reports_.Status();
  snapshot->reports.logs = report_logs_.Counts();
  snapshot->foreign_reads = CountForeignReads();
  left_alone_log_.Look(snapshot->foreign_reads.left_alone);
  snapshot->log_lines_held_back = LogLinesHeldBack();
  snapshot->unclean_stop = state_->unclean_stop();
  if (settings_.page && servers_.local != nullptr) snapshot->page_url = servers_.local->page_url();
  snapshot->page_port_holder = page_port_holder_;
  snapshot->host = host_.name;
  snapshot->target = DescribeTarget(settings_.target);
  snapshot->frequency_hz = settings_.sampling.frequency_hz;
  snapshot->settings = std::make_shared<const std::vector<EffectiveSetting>>(settings_.effective);
  for (const LossLog::Line& line : loss_log_.Look(*snapshot, at_the_end))
    LogWarning(line.text, line.kind);
  board_.Put(std::move(snapshot));
}

void Agent::Run() {
  const int turn_ms =
      static_cast<int>(std::min<int64_t>(kTurnMs, settings_.sampling.seal_interval_ms));
  SealSchedule seals(static_cast<uint64_t>(settings_.sampling.seal_interval_ms) * kNsPerMs,
                     BootTimeNs(), receivers_.empty() ? SealSchedule::Random() : MakeRandom());
  uint64_t next_snapshot = BootTimeNs();
  while (!StopRequested() && !ReloadPending() && reloads_.empty()) {
    board_.Turn(BootTimeNs());
    session_->Turn(turn_ms);
    LookForFirstSample();
    TakeLetters();
    const uint64_t now = BootTimeNs();
    captures_.Look(now);
    envelope_.SetCapturesRun(!captures_.empty());
    envelope_.Look(now, page_source_.answers_cpu_ns(), *session_, history_);
    captures_.GiveWay(envelope_.captures_level());
    reports_.Look(
        {.boot_ns = now,
         .is_own_budget_short = std::ranges::any_of(envelope_.status().levels, std::identity())});
    traces_.Look(now);
    const bool seal = seals.Due(now);
    if (seal) SealBatch();
    if (!seal && now < next_snapshot) continue;
    next_snapshot = now + kSnapshotIntervalNs;
    TakeSnapshot();
    state_->Beat(samples_in_memory_);
    receivers_.LetGo();
    LogHeldBack();
  }
}

void Agent::Finish() {
  EndStart();
  captures_.EndSession();
  reports_.Finish();
  reports_.EndSession();
  session_->Stop();
  SendLosses(true);
  TakeSnapshot();
  receivers_.Finish(FlushLimit(settings_));
  report_logs_.Finish(FlushLimit(settings_));
  traces_.Finish(FlushLimit(settings_));
  TakeSnapshot(true);
  LogTotals();
  LogAllHeldBack();
  if (servers_.local != nullptr) servers_.local->Stop();
  if (servers_.metrics != nullptr) servers_.metrics->Stop();
  state_->End();
}

void Agent::LogTotals() {
  const AgentSnapshotPtr last = board_.Latest();
  for (const TakerCounts& taker : last->takers) {
    if (taker.name == kHistoryTaker) continue;
    LogInfo(fmt::format(
                "receiver {}: {} samples produced, {} delivered, {} lost, {} kept on disk for the "
                "next start",
                taker.name, taker.due, taker.delivered, taker.lost_in_all(), taker.in_flight),
            taker.name);
  }
}

}  // namespace stackray
