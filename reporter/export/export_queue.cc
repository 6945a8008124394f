#include "reporter/export/export_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stackray {
namespace {

using Kind = SendResult::Kind;

// Halvings of one batch: one when the receiver names no limit, else until it fits (3.5 MiB / 2^6).
constexpr int kMaxBlindSplits = 1;
constexpr int kMaxSplits = 6;

SampleCount CountOf(const SealedBatch& batch) {
  return {.samples = batch.samples, .markers = std::min(batch.lost_samples, batch.samples)};
}

}  // namespace

std::unique_ptr<ExportQueue> ExportQueue::Start(std::unique_ptr<Transport> transport,
                                                ExportQueueSettings settings, ExportHooks hooks) {
  std::unique_ptr<ExportQueue> queue(
      new ExportQueue(std::move(transport), std::move(settings), std::move(hooks)));
  queue->thread_ = std::thread([raw = queue.get()] { raw->Run(); });
  return queue;
}

ExportQueue::ExportQueue(std::unique_ptr<Transport> transport, ExportQueueSettings settings,
                         ExportHooks hooks)
    : transport_(std::move(transport)),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      clock_(settings_.clock != nullptr ? settings_.clock : &real_clock_),
      schedule_(settings_.retry, settings_.jitter_seed) {}

ExportQueue::~ExportQueue() { Stop(); }

void ExportQueue::Add(SealedBatchPtr batch) {
  if (batch == nullptr) return;
  Aftermath aftermath;
  {
    const std::lock_guard lock(mutex_);
    Item item{.batch = std::move(batch)};
    const SampleCount count = CountOf(*item.batch);
    const size_t bytes = item.batch->bytes.size();
    counts_.produced += count;
    counts_.in_flight += count;
    counts_.queued_batches += 1;
    counts_.queued_bytes += bytes;
    if (stopping_) {
      Lose(std::move(item), LossReason::kShutdown, aftermath);
    } else {
      DropOldestFor(bytes, aftermath);
      if (counts_.queued_bytes > settings_.max_bytes)
        Lose(std::move(item), LossReason::kQueueFull, aftermath);
      else
        waiting_.push_back(std::move(item));
    }
  }
  wake_.notify_one();
  RunHooks(std::move(aftermath));
}

// `bytes` of a newcomer are counted already; one that could never fit drops nobody else.
void ExportQueue::DropOldestFor(size_t bytes, Aftermath& aftermath) {
  if (bytes > settings_.max_bytes) return;
  while (counts_.queued_bytes > settings_.max_bytes && !waiting_.empty()) {
    Item oldest = std::move(waiting_.front());
    waiting_.pop_front();
    Lose(std::move(oldest), LossReason::kQueueFull, aftermath);
  }
}

void ExportQueue::Lose(Item item, LossReason reason, Aftermath& aftermath) {
  const SampleCount count = CountOf(*item.batch);
  counts_.in_flight -= count;
  counts_.lost[static_cast<size_t>(reason)] += count;
  counts_.queued_batches -= 1;
  counts_.queued_bytes -= item.batch->bytes.size();
  aftermath.losses.emplace_back(reason, count);
  aftermath.garbage.push_back(std::move(item.batch));  // Freed without the lock.
  if (counts_.queued_batches == 0) idle_.notify_all();
}

// By value: what is in it is freed here, without the lock.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void ExportQueue::RunHooks(Aftermath aftermath) const {
  if (hooks_.on_lost)
    for (const auto& [reason, count] : aftermath.losses) hooks_.on_lost(reason, count);
  if (hooks_.on_note && !aftermath.note.empty()) hooks_.on_note(aftermath.note);
}

void ExportQueue::Run() {
  std::unique_lock lock(mutex_);
  while (WaitForWork(lock)) SendFront(lock);
}

bool ExportQueue::WaitForWork(std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    if (waiting_.empty()) {
      wake_.wait(lock);
    } else if (clock_->Now() < not_before_) {
      clock_->Wait(wake_, lock, not_before_);
    } else {
      return true;
    }
  }
  return false;
}

void ExportQueue::SendFront(std::unique_lock<std::mutex>& lock) {
  Item item = std::move(waiting_.front());
  waiting_.pop_front();
  if (!std::exchange(item.attempted, true)) item.first_attempt = clock_->Now();
  const size_t known_limit = counts_.learned_size_limit;
  const bool split_first =
      known_limit != 0 && item.batch->bytes.size() > known_limit && MaySplit(item);
  lock.unlock();

  std::vector<SealedBatchPtr> halves;
  SendResult result;
  if (split_first) halves = Split(item);
  if (halves.empty()) {
    result = transport_->Send(item.batch, settings_.attempt_timeout);
    lock.lock();
    counts_.attempts += 1;
    if (result.kind == Kind::kTooLarge && result.size_limit != 0)
      counts_.learned_size_limit = result.size_limit;
    const bool split_now = result.kind == Kind::kTooLarge && !split_first && MaySplit(item);
    lock.unlock();
    if (split_now) halves = Split(item);
  }

  Aftermath aftermath;
  lock.lock();
  if (!halves.empty())
    PutHalves(std::move(item), halves, aftermath);
  else
    Settle(std::move(item), result, aftermath);
  if (counts_.queued_batches == 0) idle_.notify_all();
  lock.unlock();
  RunHooks(std::move(aftermath));
  lock.lock();
}

bool ExportQueue::MaySplit(const Item& item) const {
  const int limit = counts_.learned_size_limit != 0 ? kMaxSplits : kMaxBlindSplits;
  return hooks_.split && item.splits < limit;
}

// Empty when the parts do not add up to the whole: then nothing may be sent twice or be lost
// unseen.
std::vector<SealedBatchPtr> ExportQueue::Split(const Item& item) const {
  std::vector<SealedBatchPtr> parts = hooks_.split(*item.batch);
  SampleCount sum;
  for (const SealedBatchPtr& part : parts) {
    if (part == nullptr || part->bytes.size() >= item.batch->bytes.size()) return {};
    sum += CountOf(*part);
  }
  if (parts.size() < 2 || sum != CountOf(*item.batch)) return {};
  return parts;
}

// The halves take the whole one's place. Their bytes may be a little more than its, dictionaries
// being repeated, and the queue may be over its bound by that until they are sent.
void ExportQueue::PutHalves(Item item, const std::vector<SealedBatchPtr>& halves,
                            Aftermath& aftermath) {
  counts_.splits += 1;
  counts_.queued_batches += halves.size() - 1;
  counts_.queued_bytes -= item.batch->bytes.size();
  for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
    counts_.queued_bytes += (*half)->bytes.size();
    waiting_.push_front({.batch = *half,
                         .splits = item.splits + 1,
                         .attempted = true,
                         .first_attempt = item.first_attempt});
  }
  aftermath.garbage.push_back(std::move(item.batch));
}

void ExportQueue::Settle(Item item, const SendResult& result, Aftermath& aftermath) {
  switch (result.kind) {
    case Kind::kDelivered:
    case Kind::kPartlyRejected: return Delivered(std::move(item), result, aftermath);
    case Kind::kRetry: return Retry(std::move(item), result, aftermath);
    case Kind::kTooLarge:
      NoteFailure(result.message, aftermath);
      return Lose(std::move(item), LossReason::kTooLarge, aftermath);
    case Kind::kRejected:
    case Kind::kWrongProtocol:
      schedule_.Reset();
      NoteFailure(result.message, aftermath);
      return Lose(std::move(item), LossReason::kRejected, aftermath);
  }
}

void ExportQueue::Delivered(Item item, const SendResult& result, Aftermath& aftermath) {
  const SampleCount count = CountOf(*item.batch);
  schedule_.Reset();
  counts_.in_flight -= count;
  counts_.delivered += count;
  counts_.batches_delivered += 1;
  counts_.queued_batches -= 1;
  counts_.queued_bytes -= item.batch->bytes.size();
  // A receiver that grew, or another one behind the same address.
  if (item.batch->bytes.size() > counts_.learned_size_limit) counts_.learned_size_limit = 0;
  aftermath.garbage.push_back(std::move(item.batch));
  if (!counts_.failing_with.empty()) aftermath.note = "the receiver takes batches again";
  counts_.failing_with.clear();
  if (result.kind == Kind::kPartlyRejected) {
    counts_.partly_rejected_batches += 1;
    counts_.partly_rejected_profiles += static_cast<uint64_t>(result.rejected_profiles);
    aftermath.note = fmt::format("the receiver rejected {} profiles of a batch: {}",
                                 result.rejected_profiles, result.message);
  } else if (!result.message.empty()) {
    aftermath.note = fmt::format("the receiver warns: {}", result.message);
  }
}

void ExportQueue::Retry(Item item, const SendResult& result, Aftermath& aftermath) {
  if (stopping_) return Lose(std::move(item), LossReason::kShutdown, aftermath);
  NoteFailure(result.message, aftermath);
  const ExportClock::Time now = clock_->Now();
  not_before_ = now + schedule_.Next(result.retry_after);
  receiver_asked_ = result.retry_after.has_value();
  if (now - item.first_attempt >= settings_.max_retry_time)
    return Lose(std::move(item), LossReason::kRetryTime, aftermath);
  counts_.retries += 1;
  waiting_.push_front(std::move(item));
}

void ExportQueue::NoteFailure(const std::string& message, Aftermath& aftermath) {
  const std::string text = message.empty() ? "no reason given" : message;
  if (text == counts_.failing_with) return;  // Said already.
  counts_.failing_with = text;
  aftermath.note = fmt::format("the receiver does not take a batch: {}", text);
}

bool ExportQueue::Flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!receiver_asked_) not_before_ = {};
  wake_.notify_one();
  return idle_.wait_for(lock, limit, [this] { return counts_.queued_batches == 0; });
}

void ExportQueue::Stop() {
  const std::lock_guard stop_lock(stop_mutex_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  transport_->Cancel();
  if (thread_.joinable()) thread_.join();
  Aftermath aftermath;
  {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
      Item item = std::move(waiting_.front());
      waiting_.pop_front();
      Lose(std::move(item), LossReason::kShutdown, aftermath);
    }
  }
  RunHooks(std::move(aftermath));
}

DeliveryCounts ExportQueue::Counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace stackray
