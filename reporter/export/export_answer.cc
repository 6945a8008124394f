// What follows from a receiver's answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporter/export/export_queue.h"

namespace stackray {

using Kind = SendResult::Kind;

void ExportQueue::Learn(const OutgoingPayload& item, const SendResult& result) {
  const ExportClock::Time now = clock_->Now();
  if (result.kind == Kind::kTooLarge) size_limit_.Refused(item.bytes, result.size_limit, now);
  if (result.kind == Kind::kDelivered || result.kind == Kind::kPartlyRejected) {
    size_limit_.Taken(item.bytes);
    rate_limit_.Taken(item.bytes, now);
  }
  backlog_.counts().learned_size_limit = size_limit_.bytes();
}

void ExportQueue::Settle(OutgoingPayload item, const Outcome& outcome, Aftermath& aftermath) {
  const SendResult& result = outcome.result;
  switch (result.kind) {
    case Kind::kDelivered:
    case Kind::kPartlyRejected: return Delivered(std::move(item), result, aftermath);
    case Kind::kRetry: return Retry(std::move(item), result, schedule_, aftermath);
    case Kind::kNoEntry:
    case Kind::kWrongProtocol: return Retry(std::move(item), result, slow_schedule_, aftermath);
    case Kind::kOverLimit: return OverLimit(std::move(item), outcome, aftermath);
    case Kind::kTooLarge:
      NoteFailure(result.message, aftermath);
      return backlog_.Lose(std::move(item), LossReason::kTooLarge, aftermath);
    case Kind::kRejected:
      schedule_.Reset();
      NoteFailure(result.message, aftermath);
      return backlog_.Lose(std::move(item), LossReason::kRejected, aftermath);
  }
}

void ExportQueue::CountPartlyRejected(OutgoingPayload& item, uint64_t units) {
  item.taken_in_part = true;
  DeliveryCounts& counts = backlog_.counts();
  counts.partly_rejected += item.count;
  counts.partly_rejected_batches += 1;
  counts.partly_rejected_units += units;
}

void ExportQueue::Delivered(OutgoingPayload item, const SendResult& result, Aftermath& aftermath) {
  DeliveryCounts& counts = backlog_.counts();
  schedule_.Reset();
  slow_schedule_.Reset();
  if (!counts.failing_with.empty())
    aftermath.notes.emplace_back("the receiver takes batches again");
  counts.failing_with.clear();
  if (result.kind == Kind::kPartlyRejected) {
    // A unit has at least one item, so no receiver can have rejected more than that.
    const uint64_t units = std::min(
        static_cast<uint64_t>(std::max<int64_t>(result.rejected_units, 0)), item.count.items);
    CountPartlyRejected(item, units);
    aftermath.notes.push_back(fmt::format("the receiver rejected at most {} {} of a batch: {}",
                                          units, settings_.traits->units, result.message));
  } else if (!result.message.empty()) {
    aftermath.notes.push_back(fmt::format("the receiver warns: {}", result.message));
  }
  backlog_.Deliver(std::move(item), aftermath);
}

void ExportQueue::Retry(OutgoingPayload item, const SendResult& result, RetrySchedule& schedule,
                        Aftermath& aftermath) {
  if (stopping_) return backlog_.PutBack(std::move(item));  // Stop() keeps it or loses it.
  NoteFailure(result.message, aftermath);
  not_before_ = clock_->Now() + schedule.Next(result.retry_after);
  receiver_asked_ = result.retry_after.has_value();
  PutBackOrGiveUp(std::move(item), aftermath);
}

void ExportQueue::PutBackOrGiveUp(OutgoingPayload item, Aftermath& aftermath) {
  if (clock_->Now() - item.first_attempt >= settings_.max_retry_time)
    return backlog_.Lose(std::move(item), LossReason::kRetryTime, aftermath);
  backlog_.counts().retries += 1;
  backlog_.PutBack(std::move(item));
}

// A batch of several units may be stored in part, so it counts as taken and is over. A single one
// is not stored, and waits.
void ExportQueue::OverLimit(OutgoingPayload item, const Outcome& outcome, Aftermath& aftermath) {
  const SendResult& result = outcome.result;
  const bool one_unit = outcome.units == 1;
  if (stopping_ && one_unit) return backlog_.PutBack(std::move(item));
  const ExportClock::Time now = clock_->Now();
  const bool is_new = !rate_limit_.active();
  rate_limit_.Refused(one_unit, now);
  not_before_ = now + schedule_.Next(result.retry_after);
  receiver_asked_ = result.retry_after.has_value();
  if (is_new || item.refusals > 1) NoteFailure(result.message, aftermath);
  if (one_unit) {
    ++item.refusals;
    return PutBackOrGiveUp(std::move(item), aftermath);
  }
  const uint64_t items = item.count.items;
  CountPartlyRejected(item, outcome.units == 0 ? items : std::min(outcome.units, items));
  aftermath.notes.push_back(fmt::format(
      "a limit of the receiver's rate was met: at most {} {} were not stored and are not sent "
      "again; from now on each of its {} goes out by itself: {}",
      items, settings_.traits->items, settings_.traits->units, result.message));
  backlog_.Deliver(std::move(item), aftermath);
}

void ExportQueue::NoteFailure(const std::string& message, Aftermath& aftermath) {
  const std::string text = message.empty() ? "no reason given" : message;
  std::string& failing = backlog_.counts().failing_with;
  if (text == failing) return;  // Said already.
  failing = text;
  aftermath.notes.push_back(fmt::format("the receiver does not take a batch: {}", text));
}

}  // namespace stackray
