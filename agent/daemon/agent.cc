#include "agent/daemon/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "agent/log.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/stop_signal.h"
#include "kernel/wall_clock.h"
#include "web/web_page.h"

namespace stackray {
namespace {

constexpr int kTurnMs = 500;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kSnapshotIntervalNs = 2'000 * kNsPerMs;  // Also between seals far apart.

}  // namespace

Agent::Agent(AgentSettings settings) : settings_(std::move(settings)) {}
Agent::~Agent() = default;

absl::Status Agent::StartReceiver() {
  absl::StatusOr<std::unique_ptr<Receiver>> receiver = Receiver::Create(settings_);
  if (!receiver.ok()) return receiver.status();
  receiver_ = *std::move(receiver);
  return absl::OkStatus();
}

absl::Status Agent::StartHistory() {
  absl::StatusOr<OpenedHistory> opened = OpenHistory({.state_dir = settings_.state_dir,
                                                      .max_bytes = settings_.history_bytes,
                                                      .max_age_ms = settings_.history_age_ms});
  if (!opened.ok()) return opened.status();
  for (const std::string& warning : opened->warnings) LogWarning(warning);
  history_ = std::move(opened->history);
  return absl::OkStatus();
}

absl::Status Agent::StartPage() {
  page_source_ =
      std::make_unique<HistoryPageSource>(*history_, host_.name, settings_.sampling.frequency_hz);
  absl::StatusOr<std::unique_ptr<WebServer>> server = WebServer::Start(
      {.host = settings_.listen.host, .port = settings_.listen.port}, WebPage(), *page_source_);
  if (!server.ok()) return server.status();
  page_ = *std::move(server);
  fmt::print("stackray: flame graph of this host at {}\n", page_->url());
  fmt::print("stackray: {}\n", SshHint(settings_.listen.host, page_->port(), host_.name));
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Agent::Start() {
  if (settings_.page) {
    if (absl::Status status = StartHistory(); !status.ok()) return status;
  }
  if (settings_.receiver_configured) {
    if (absl::Status status = StartReceiver(); !status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<SamplingSession>> session =
      SamplingSession::Create(MakeSessionSettings(settings_.sampling, settings_.target),
                              [this](const SealedBatchPtr& batch) { OnSealed(batch); });
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  if (absl::Status status = ApplyTarget(settings_.target, session_->sampler()); !status.ok())
    return status;
  if (settings_.page) {
    if (absl::Status status = StartPage(); !status.ok()) return status;
  }
  for (const std::string& warning : session_->warnings()) LogWarning(warning);
  if (absl::Status status = session_->Start(); !status.ok()) return status;
  LogInfo(fmt::format("sampling {} at {} Hz", DescribeTarget(settings_.target),
                      settings_.sampling.frequency_hz));
  return absl::OkStatus();
}

void Agent::OnSealed(const SealedBatchPtr& batch) {
  if (receiver_ != nullptr) receiver_->Add(batch);
  if (history_ == nullptr) return;
  const absl::Status status = history_->Append(batch);
  if (!status.ok() && !history_failing_)
    LogError("local history: " + std::string(status.message()));
  history_failing_ = !status.ok();
}

void Agent::AddDeliveryLosses() {
  if (receiver_ == nullptr) return;
  receiver_->TakeLosses([this](LossReason reason, uint64_t samples) {
    session_->loop().AddLost(kFirstDeliveryLoss + static_cast<uint64_t>(reason), samples);
  });
}

void Agent::TakeSnapshot() {
  if (page_source_ == nullptr) return;
  AgentSnapshot snapshot;
  snapshot.session = session_->Counts();
  snapshot.programs = session_->sampler().ProgramCosts();
  if (history_ != nullptr) snapshot.history = history_->statistics();
  if (receiver_ != nullptr) snapshot.delivery = receiver_->Counts();
  ReadOwnMemory(&snapshot);
  page_source_->SetSnapshot(std::move(snapshot));
}

void Agent::Run() {
  const uint64_t interval_ns =
      static_cast<uint64_t>(settings_.sampling.seal_interval_ms) * kNsPerMs;
  const int turn_ms =
      static_cast<int>(std::min<int64_t>(kTurnMs, settings_.sampling.seal_interval_ms));
  uint64_t next_seal = BootTimeNs() + interval_ns, next_snapshot = BootTimeNs();
  while (!StopRequested() && !ReloadPending()) {
    session_->Turn(turn_ms);
    const uint64_t now = BootTimeNs();
    const bool seal = now >= next_seal;
    if (seal) {
      next_seal = now + interval_ns;
      AddDeliveryLosses();
      session_->Seal();
    }
    if (!seal && now < next_snapshot) continue;
    next_snapshot = now + kSnapshotIntervalNs;
    TakeSnapshot();
  }
}

void Agent::Finish() {
  AddDeliveryLosses();
  session_->Stop();
  TakeSnapshot();
  if (receiver_ != nullptr) {
    receiver_->Finish(std::chrono::milliseconds(settings_.flush_timeout_ms));
    LogTotals();
  }
  if (page_ != nullptr) page_->Stop();
}

void Agent::LogTotals() {
  const SessionCounts session = session_->Counts();
  const DeliveryCounts delivery = receiver_->Counts();
  LogInfo(fmt::format("{} samples produced, {} delivered, {} lost", session.produced,
                      delivery.delivered.without_markers(),
                      session.lost() + delivery.LostInAll().without_markers()));
}

}  // namespace stackray
