// One attempt to deliver the oldest batch, and what follows from the receiver's answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporter/export/export_queue.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

// A batch that is halved until each part holds one sample needs 22 for 4 million samples.
constexpr int kMaxSplits = 24;
// Nobody's size limit is below this, so such a refusal by code alone is an overload.
constexpr size_t kSurelySmallBytes = 64 << 10;

bool IsTaken(const SendResult& result) {
  return result.kind == Kind::kDelivered || result.kind == Kind::kPartlyRejected;
}

}  // namespace

void ExportQueue::SendFront(Lock& lock) {
  OutgoingBatch item = backlog_.TakeFront();
  Aftermath aftermath;
  if (!std::exchange(item.attempted, true)) item.first_attempt = clock_->Now();
  if (Load(item, lock, aftermath)) {
    const bool split_first =
        size_limit_.MustSplit(item.bytes, item.splits > 0, clock_->Now()) && MaySplit(item, false);
    backlog_.counts().learned_size_limit = size_limit_.bytes();
    lock.unlock();
    Parts parts;
    SendResult result;
    absl::Status removed;
    if (split_first) parts = Split(item);
    if (parts.batches.empty()) {
      result = transport_->Send(item.batch, settings_.attempt_timeout);
      // First of all: from here on a kill does not make it come twice.
      if (IsTaken(result) && item.entry) removed = spool_->Remove(*item.entry);
      if (result.kind == Kind::kTooLarge && !split_first && MaySplit(item, result.maybe_overloaded))
        parts = Split(item);
    }
    lock.lock();
    if (!split_first || parts.batches.empty()) backlog_.counts().attempts += 1;
    if (!removed.ok()) NoteSpool(removed, aftermath);
    LearnLimit(item, result);
    if (!parts.batches.empty())
      PutParts(std::move(item), std::move(parts), result.maybe_overloaded, aftermath);
    else
      Settle(std::move(item), result, aftermath);
  }
  lock.unlock();
  CleanUp(std::move(aftermath));
  lock.lock();
}

// Reads a batch that is on disk alone; false when it was lost or must be tried later.
bool ExportQueue::Load(OutgoingBatch& item, Lock& lock, Aftermath& aftermath) {
  if (item.batch != nullptr) return true;
  lock.unlock();
  absl::StatusOr<SealedBatchPtr> batch = spool_->Read(*item.entry);
  lock.lock();
  if (batch.ok()) {
    backlog_.SetCopy(item, *std::move(batch));
    return true;
  }
  if (absl::IsDataLoss(batch.status())) {
    aftermath.notes.push_back(fmt::format("{} samples in the spool are lost: {}",
                                          item.count.samples,
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

// Reads nothing that the lock guards.
bool ExportQueue::MaySplit(const OutgoingBatch& item, bool maybe_overloaded) const {
  if (!hooks_.split || item.splits >= kMaxSplits) return false;
  return !maybe_overloaded || item.splits == 0 || item.bytes > kSurelySmallBytes;
}

// Without the lock. No parts when they do not add up to the whole: then nothing may be sent twice or
// be lost unseen.
ExportQueue::Parts ExportQueue::Split(const OutgoingBatch& item) const {
  const std::vector<SealedBatchPtr> batches = hooks_.split(*item.batch);
  Parts parts;
  SampleCount sum;
  for (const SealedBatchPtr& batch : batches) {
    if (batch == nullptr || batch->bytes.size() >= item.bytes) return {};
    parts.batches.push_back(OutgoingBatch::Of(batch));
    sum += parts.batches.back().count;
  }
  if (batches.size() < 2 || sum != item.count) return {};
  if (!item.entry) return parts;
  absl::StatusOr<std::vector<SpoolEntry>> entries = spool_->WriteParts(*item.entry, batches);
  if (!entries.ok()) {  // A full disk may have room for the parts when the whole is gone.
    parts.spool_status = spool_->Remove(*item.entry);
    if (parts.spool_status.ok()) entries = spool_->WriteParts(*item.entry, batches);
  }
  parts.spool_status.Update(entries.status());
  for (size_t i = 0; entries.ok() && i < entries->size(); ++i) {
    parts.batches[i].entry = std::move((*entries)[i]);
    parts.batches[i].synced = true;
  }
  return parts;
}

// The parts take the whole one's place. After a refusal that may have meant an overload they go out
// at once the first time, as OTLP asks for, and then with waits.
void ExportQueue::PutParts(OutgoingBatch item, Parts parts, bool maybe_overloaded,
                           Aftermath& aftermath) {
  if (!parts.spool_status.ok()) {
    NoteSpool(parts.spool_status, aftermath);
    backlog_.counts().spool_write_failures += 1;
  }
  const size_t refused = maybe_overloaded ? item.bytes : item.refused_bytes;
  if (maybe_overloaded && item.refused_bytes != 0) {
    not_before_ = clock_->Now() + schedule_.Next(std::nullopt);
    receiver_asked_ = false;
  }
  for (OutgoingBatch& part : parts.batches) part.refused_bytes = refused;
  backlog_.PutParts(std::move(item), std::move(parts.batches), aftermath);
}

void ExportQueue::LearnLimit(const OutgoingBatch& item, const SendResult& result) {
  const ExportClock::Time now = clock_->Now();
  if (result.kind == Kind::kTooLarge && !result.maybe_overloaded)
    size_limit_.Refused(item.bytes, result.size_limit, now);
  if (IsTaken(result)) {
    // The whole was refused and a part is taken: so it was the size.
    if (item.refused_bytes > item.bytes && size_limit_.bytes() == 0)
      size_limit_.Refused(item.refused_bytes, 0, now);
    size_limit_.Taken(item.bytes);
  }
  backlog_.counts().learned_size_limit = size_limit_.bytes();
}

void ExportQueue::Settle(OutgoingBatch item, const SendResult& result, Aftermath& aftermath) {
  switch (result.kind) {
    case Kind::kDelivered:
    case Kind::kPartlyRejected: return Delivered(std::move(item), result, aftermath);
    case Kind::kRetry: return Retry(std::move(item), result, aftermath);
    case Kind::kTooLarge:
      if (result.maybe_overloaded) return Retry(std::move(item), result, aftermath);
      NoteFailure(result.message, aftermath);
      return backlog_.Lose(std::move(item), LossReason::kTooLarge, aftermath);
    case Kind::kRejected:
    case Kind::kWrongProtocol:
      schedule_.Reset();
      NoteFailure(result.message, aftermath);
      return backlog_.Lose(std::move(item), LossReason::kRejected, aftermath);
  }
}

void ExportQueue::Delivered(OutgoingBatch item, const SendResult& result, Aftermath& aftermath) {
  DeliveryCounts& counts = backlog_.counts();
  schedule_.Reset();
  if (!counts.failing_with.empty())
    aftermath.notes.emplace_back("the receiver takes batches again");
  counts.failing_with.clear();
  if (result.kind == Kind::kPartlyRejected) {
    // A profile has at least one sample, so no receiver can have rejected more than that.
    const uint64_t profiles = std::min(
        static_cast<uint64_t>(std::max<int64_t>(result.rejected_profiles, 0)), item.count.samples);
    counts.partly_rejected += item.count;
    counts.partly_rejected_batches += 1;
    counts.partly_rejected_profiles += profiles;
    aftermath.notes.push_back(fmt::format(
        "the receiver rejected at most {} profiles of a batch: {}", profiles, result.message));
  } else if (!result.message.empty()) {
    aftermath.notes.push_back(fmt::format("the receiver warns: {}", result.message));
  }
  backlog_.Deliver(std::move(item), aftermath);
}

void ExportQueue::Retry(OutgoingBatch item, const SendResult& result, Aftermath& aftermath) {
  if (stopping_) return backlog_.PutBack(std::move(item));  // Stop() keeps it or loses it.
  NoteFailure(result.message, aftermath);
  const ExportClock::Time now = clock_->Now();
  not_before_ = now + schedule_.Next(result.retry_after);
  receiver_asked_ = result.retry_after.has_value();
  if (now - item.first_attempt >= settings_.max_retry_time)
    return backlog_.Lose(std::move(item), LossReason::kRetryTime, aftermath);
  backlog_.counts().retries += 1;
  backlog_.PutBack(std::move(item));
}

void ExportQueue::NoteFailure(const std::string& message, Aftermath& aftermath) {
  const std::string text = message.empty() ? "no reason given" : message;
  std::string& failing = backlog_.counts().failing_with;
  if (text == failing) return;  // Said already.
  failing = text;
  aftermath.notes.push_back(fmt::format("the receiver does not take a batch: {}", text));
}

}  // namespace stackray
