// One attempt to deliver the oldest batch.
#include <fmt/format.h>

#include <utility>

#include "reporter/export/export_queue.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

// A batch that is halved until each part holds one item needs 22 for 4 million of them.
constexpr int kMaxSplits = 24;
// Nobody allows less at once, so a refused unit of this size is not too large for a limit of
// rate.
constexpr size_t kSurelySmallBytes = 64 << 10;
// After so many refusals one unit may be more than the limit allows at once.
constexpr int kRefusalsOfOne = 3;

bool IsTaken(const SendResult& result) {
  return result.kind == Kind::kDelivered || result.kind == Kind::kPartlyRejected;
}

}  // namespace

void ExportQueue::SendFront(Lock& lock) {
  OutgoingPayload item = backlog_.TakeFront();
  Aftermath aftermath;
  if (!std::exchange(item.attempted, true)) item.first_attempt = clock_->Now();
  if (Load(item, lock, aftermath)) {
    const Plan plan = MakePlan(item);
    lock.unlock();
    Outcome outcome = Try(item, plan);
    lock.lock();
    if (outcome.sent) backlog_.counts().attempts += 1;
    if (outcome.sent) item.attempts += 1;
    if (!outcome.removed.ok()) NoteSpool(outcome.removed, aftermath);
    if (!outcome.result.note.empty()) aftermath.notes.push_back(outcome.result.note);
    if (outcome.sent) Learn(item, outcome.result);
    if (!outcome.parts.batches.empty())
      PutParts(std::move(item), std::move(outcome.parts), aftermath);
    else
      Settle(std::move(item), outcome, aftermath);
  }
  lock.unlock();
  CleanUp(std::move(aftermath));
  lock.lock();
}

// Reads a batch that is on disk alone; false when it was lost or must be tried later.
bool ExportQueue::Load(OutgoingPayload& item, Lock& lock, Aftermath& aftermath) {
  if (item.payload.in_memory()) return true;
  lock.unlock();
  absl::StatusOr<Payload> batch = spool_->Read(*item.entry);
  if (batch.ok() && batch->signal != settings_.traits->signal)
    batch = absl::DataLossError(fmt::format("{}: of another signal", item.entry->FileName()));
  lock.lock();
  if (batch.ok()) {
    if (item.trace.span.valid()) batch->trace = item.trace;
    spans_.Recover(*batch);
    item.trace = batch->trace;
    backlog_.SetCopy(item, *std::move(batch));
    return true;
  }
  if (absl::IsDataLoss(batch.status())) {
    aftermath.notes.push_back(fmt::format("{} {} in the spool are lost: {}", item.count.items,
                                          settings_.traits->items,
                                          std::string(batch.status().message())));
    backlog_.Lose(std::move(item), LossReason::kSpoolDamaged, aftermath);
  } else {
    NoteSpool(batch.status(), aftermath);
    not_before_ = clock_->Now() + schedule_.Next(std::nullopt);
    receiver_asked_ = false;
    backlog_.PutBack(std::move(item));
  }
  return false;
}

ExportQueue::Plan ExportQueue::MakePlan(const OutgoingPayload& item) {
  const ExportClock::Time now = clock_->Now();
  const bool too_large = size_limit_.MustSplit(item.bytes, item.splits > 0, now);
  const bool over_burst = item.refusals >= kRefusalsOfOne && item.bytes > kSurelySmallBytes;
  backlog_.counts().learned_size_limit = size_limit_.bytes();
  return {.halve = (too_large || over_burst) && MayHalve(item),
          .units_each = rate_limit_.UnitsEach(now)};
}

// Reads nothing that the lock guards.
bool ExportQueue::MayHalve(const OutgoingPayload& item) const {
  return settings_.traits->halve && item.splits < kMaxSplits;
}

size_t ExportQueue::CountUnits(const OutgoingPayload& item) const {
  const auto& count_units = settings_.traits->count_units;
  return count_units ? count_units(item.payload) : 0;
}

// Without the lock.
SendResult ExportQueue::Send(const OutgoingPayload& item) const {
  Payload request = item.payload;
  request.request = spans_.BeginAttempt(item.trace);
  const int64_t began_unix_ns = spans_.NowUnixNs();
  SendResult result = transport_->Send(request, settings_.attempt_timeout);
  spans_.EndAttempt(item, request.request, began_unix_ns, result);
  return result;
}

// Splits the batch or sends it. Without the lock.
ExportQueue::Outcome ExportQueue::Try(const OutgoingPayload& item, const Plan& plan) const {
  const SignalTraits& traits = *settings_.traits;
  Outcome outcome;
  if (plan.halve)
    outcome.parts = Replace(item, traits.halve(item.payload), true);
  else if (plan.units_each != 0 && traits.split_by_unit && CountUnits(item) > plan.units_each)
    outcome.parts = Replace(item, traits.split_by_unit(item.payload, plan.units_each), item.synced);
  if (!outcome.parts.batches.empty()) return outcome;
  outcome.sent = true;
  outcome.result = Send(item);
  const Kind kind = outcome.result.kind;
  if (kind == Kind::kOverLimit) outcome.units = CountUnits(item);
  // First of all: from here on a kill does not make it come twice.
  const bool is_over = IsTaken(outcome.result) || (kind == Kind::kOverLimit && outcome.units != 1);
  if (is_over && item.entry) outcome.removed = spool_->Remove(*item.entry);
  if (kind == Kind::kTooLarge && !plan.halve && MayHalve(item))
    outcome.parts = Replace(item, traits.halve(item.payload), true);
  return outcome;
}

// No parts when they do not add up to the whole: then nothing may be sent twice or be lost unseen.
ExportQueue::Parts ExportQueue::Replace(const OutgoingPayload& item, std::vector<Payload> batches,
                                        bool sync) const {
  Parts parts;
  ItemCount sum;
  spans_.Split(item, batches);
  for (const Payload& batch : batches) {
    if (!batch.in_memory() || batch.bytes.size() >= item.bytes) return {};
    parts.batches.push_back(OutgoingPayload::Of(batch));
    sum += parts.batches.back().count;
  }
  if (batches.size() < 2 || sum != item.count) return {};
  if (!item.entry) return parts;
  absl::StatusOr<std::vector<SpoolEntry>> entries = spool_->WriteParts(*item.entry, batches, sync);
  if (!entries.ok()) {  // A full disk may have room for the parts when the whole is gone.
    parts.spool_status = spool_->Remove(*item.entry);
    if (parts.spool_status.ok()) entries = spool_->WriteParts(*item.entry, batches, sync);
  }
  parts.spool_status.Update(entries.status());
  for (size_t i = 0; entries.ok() && i < entries->size(); ++i) {
    parts.batches[i].entry = std::move((*entries)[i]);
    parts.batches[i].synced = sync;
  }
  return parts;
}

// The parts take the whole one's place.
void ExportQueue::PutParts(OutgoingPayload item, Parts parts, Aftermath& aftermath) {
  spans_.EndSplit(item, parts.batches.size());
  if (!parts.spool_status.ok()) {
    NoteSpool(parts.spool_status, aftermath);
    backlog_.counts().spool_write_failures += 1;
  }
  backlog_.PutParts(std::move(item), std::move(parts.batches), aftermath);
}

}  // namespace stackray
