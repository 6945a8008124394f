#include "agent/daemon/report_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/daemon/own_resource.h"
#include "agent/sampling/session_settings.h"

namespace stackray {
namespace {

constexpr uint64_t kMemoryBytes = 4 << 20, kDiskBytes = 16 << 20;
constexpr std::chrono::milliseconds kLongestFlush{3'000};

}  // namespace

absl::StatusOr<std::vector<ReceiverPlan>> PlanReportLogs(const AgentSettings& settings) {
  std::vector<ReceiverPlan> plans;
  if (!settings.reports.send) return plans;
  for (const ReceiverStrings& strings : settings.receivers) {
    absl::StatusOr<ReceiverSettings> beside = BesideProfiles(strings, Signal::kLogs);
    if (absl::IsNotFound(beside.status()))
      return absl::InvalidArgumentError(
          fmt::format("reports: send: {}", std::string(beside.status().message())));
    if (!beside.ok()) return beside.status();
    ReceiverPlan plan{.name = strings.name,
                      .settings = *std::move(beside),
                      .files = {},
                      .queue_bytes = kMemoryBytes,
                      .spool_directory = {},
                      .spool_bytes = settings.spool_bytes == 0 ? 0 : kDiskBytes,
                      .spool_age_ms = settings.spool_age_ms,
                      .signal = Signal::kLogs};
    plan.files = CertificateFilesOf(plan.settings);
    if (plan.spool_bytes > 0) plan.spool_directory = settings.state_dir + "/logs";
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::unique_ptr<Receiver> ReportLogs::TakeFor(const ReceiverPlan& plan) {
  const auto found = std::ranges::find_if(
      receivers_, [&](const auto& receiver) { return receiver->plan().name == plan.name; });
  if (found == receivers_.end()) return nullptr;
  std::unique_ptr<Receiver> taken = std::move(*found);
  receivers_.erase(found);
  return taken;
}

void ReportLogs::Apply(std::vector<ReceiverPlan> plans, const BatchSettings& host) {
  resource_ = OwnResource(host);
  std::vector<std::unique_ptr<Receiver>> next;
  for (ReceiverPlan& plan : plans) {
    std::unique_ptr<Receiver> old = TakeFor(plan);
    if (old != nullptr && old->plan() == plan) {
      next.push_back(std::move(old));
    } else if (old != nullptr) {
      next.push_back(Receiver::Succeed(std::move(plan), Receiver::Retire(std::move(old))));
    } else {
      next.push_back(Receiver::Start(std::move(plan), {}));
    }
  }
  for (const auto& gone : receivers_) gone->Finish(std::chrono::milliseconds(0));
  receivers_ = std::move(next);
}

void ReportLogs::Add(const LogRecord& record) {
  const Payload payload =
      Payload::Of(Signal::kLogs, EncodeLogRecord(resource_, kAgentVersion, record), 1);
  for (const auto& receiver : receivers_) receiver->Add(payload);
}

void ReportLogs::Finish(std::chrono::milliseconds limit) {
  for (const auto& receiver : receivers_) receiver->BeginFlush();
  for (const auto& receiver : receivers_) receiver->Finish(std::min(limit, kLongestFlush));
}

LogDelivery ReportLogs::Counts() const {
  LogDelivery sum;
  for (const auto& receiver : receivers_) {
    const DeliveryCounts counts = receiver->Counts();
    sum.delivered += counts.delivered.items;
    sum.lost += counts.LostInAll().items;
    sum.in_flight += counts.in_flight.items;
    if (!counts.failing_with.empty()) sum.failing_with = counts.failing_with;
  }
  return sum;
}

}  // namespace stackray
