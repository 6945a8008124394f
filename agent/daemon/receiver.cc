#include "agent/daemon/receiver.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "agent/log.h"
#include "reporter/export/transport.h"
#include "reporter/spool/spool_sweep.h"

namespace stackray {
namespace {

// What a receiver that has ended contributes to its successor's counts. `recovered` may be below
// zero, modulo 2^64, until the successor has found what stayed on disk.
void AddBefore(const DeliveryCounts& before, DeliveryCounts* counts) {
  counts->produced += before.produced;
  counts->delivered += before.delivered;
  for (size_t i = 0; i < kLossReasons; ++i) counts->lost[i] += before.lost[i];
  counts->recovered += before.recovered;
  counts->partly_rejected += before.partly_rejected;
  counts->partly_rejected_batches += before.partly_rejected_batches;
  counts->partly_rejected_units += before.partly_rejected_units;
  counts->batches_delivered += before.batches_delivered;
  counts->attempts += before.attempts;
  counts->retries += before.retries;
  counts->splits += before.splits;
  counts->spool_write_failures += before.spool_write_failures;
}

std::vector<SpanAttribute> AddressOf(const ReceiverEndpoint& endpoint) {
  return {{"server.address", endpoint.host}, {"server.port", int64_t{endpoint.port}}};
}

// nullptr: none is wanted, or it cannot be used.
std::unique_ptr<Spool> OpenSpool(const ReceiverPlan& plan) {
  if (plan.spool_directory.empty()) return nullptr;
  absl::StatusOr<OpenedSpool> opened =
      Spool::Open({.directory = plan.spool_directory,
                   .receiver = EndpointOf(plan),
                   .max_bytes = plan.spool_bytes,
                   .max_age = std::chrono::milliseconds(plan.spool_age_ms),
                   .now_ms = {}});
  if (!opened.ok()) {
    LogWarning(fmt::format("receiver {}: batches wait in memory only: {}", plan.name,
                           std::string(opened.status().message())));
    return nullptr;
  }
  for (const std::string& warning : opened->warnings)
    LogWarning(fmt::format("receiver {}: {}", plan.name, warning));
  return std::move(opened->spool);
}

// A receiver has another address: what waits on disk for the old one is the new one's, unless that
// has some of its own already; then it stays until the old address is configured again, or it is
// too old.
void MoveSpool(const Receiver::Legacy& legacy, const ReceiverPlan& plan) {
  const std::string endpoint = EndpointOf(plan);
  if (legacy.counts.spooled.items == 0 || plan.spool_directory.empty()) return;
  if (legacy.spool_directory == plan.spool_directory && legacy.endpoint == endpoint) return;
  const absl::Status status =
      RenameSpool(legacy.spool_directory, legacy.endpoint, plan.spool_directory, endpoint);
  if (!status.ok())
    LogWarning(fmt::format("what waits on disk for {} is not handed over to {}: {}",
                           legacy.endpoint, endpoint, std::string(status.message())));
}

}  // namespace

Receiver::Receiver(ReceiverPlan plan, const TakerSpan& span, Tracer* tracer)
    : plan_(std::move(plan)), span_(span) {
  ExportHooks hooks;
  hooks.on_lost = [this](LossReason reason, ItemCount count) { OnLost(reason, count); };
  hooks.on_note = [this](std::string_view text) { OnNote(text); };
  hooks.on_answer = [this] {
    LogInfo(fmt::format("receiver {}: it answers", plan_.name), plan_.name);
  };
  queue_ = ExportQueue::Start(MakeTransport(plan_.settings),
                              {.max_bytes = plan_.queue_bytes,
                               .attempt_timeout = plan_.settings.timeout,
                               .probe = plan_.probe,
                               .traits = &TraitsOf(plan_.signal),
                               .tracer = tracer,
                               .span_attributes = {{"stackray.receiver.name", plan_.name}},
                               .attempt_attributes = AddressOf(plan_.settings.endpoint)},
                              std::move(hooks), OpenSpool(plan_));
}

std::unique_ptr<Receiver> Receiver::Start(ReceiverPlan plan, const TakerSpan& span,
                                          Tracer* tracer) {
  return std::unique_ptr<Receiver>(new Receiver(std::move(plan), span, tracer));
}

Receiver::Legacy Receiver::Retire(std::unique_ptr<Receiver> receiver) {
  Legacy legacy{.span = receiver->span_,
                .counts = {},
                .losses = {},
                .unsent = receiver->queue_->TakeUnsent(),
                .spool_directory = receiver->plan_.spool_directory,
                .endpoint = EndpointOf(receiver->plan_)};
  legacy.counts = receiver->Counts();
  receiver->KeepLossesOf(receiver->losses_hz_);
  legacy.losses = std::move(receiver->losses_at_);
  return legacy;
}

std::unique_ptr<Receiver> Receiver::Succeed(ReceiverPlan plan, Legacy legacy, Tracer* tracer) {
  MoveSpool(legacy, plan);
  std::unique_ptr<Receiver> receiver = Start(std::move(plan), legacy.span, tracer);
  receiver->before_ = std::move(legacy.counts);
  for (const auto& [frequency_hz, lost] : legacy.losses)
    for (size_t i = 0; i < kLossReasons; ++i) receiver->losses_at_[frequency_hz][i] += lost[i];
  for (Payload& payload : legacy.unsent) receiver->queue_->Add(std::move(payload));
  return receiver;
}

void Receiver::OnLost(LossReason reason, ItemCount count) {
  losses_[static_cast<size_t>(reason)] += count.items;
}

// "the receiver does not take a batch: WHY": one kind of line for each receiver and what it begins
// with.
void Receiver::OnNote(std::string_view text) const {
  const std::string line = fmt::format("receiver {}: {}", plan_.name, text);
  LogWarning(line, fmt::format("{} {}", plan_.name, text.substr(0, text.find(':'))));
}

void Receiver::KeepLossesOf(double frequency_hz) {
  LostSamples& lost = losses_at_[frequency_hz];
  for (size_t i = 0; i < kLossReasons; ++i) lost[i] += losses_[i].exchange(0);
}

void Receiver::SendLosses(const BatchSettings& settings, int64_t now_unix_ns, bool at_the_end) {
  if (losses_hz_ != settings.frequency_hz) {
    KeepLossesOf(losses_hz_ != 0 ? losses_hz_ : settings.frequency_hz);
    losses_hz_ = settings.frequency_hz;
  }
  const DeliveryCounts counts = queue_->Counts();
  if (!counts.failing_with.empty() && counts.queued_batches > 0 && !at_the_end) return;
  KeepLossesOf(losses_hz_);
  BatchSettings of_that_time = settings;
  for (const auto& [frequency_hz, lost] : std::exchange(losses_at_, {})) {
    of_that_time.frequency_hz = frequency_hz != 0 ? frequency_hz : settings.frequency_hz;
    Add(Payload::Of(MakeLossBatch(of_that_time, lost, now_unix_ns)));
  }
}

DeliveryCounts Receiver::Counts() const {
  DeliveryCounts counts = queue_->Counts();
  AddBefore(before_, &counts);
  return counts;
}

void Receiver::Finish(std::chrono::milliseconds limit) {
  queue_->Flush(limit);
  queue_->Stop();
}

}  // namespace stackray
