#include "reporter/export/export_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporter/export/probe.h"

namespace stackray {

std::unique_ptr<ExportQueue> ExportQueue::Start(std::unique_ptr<Transport> transport,
                                                ExportQueueSettings settings, ExportHooks hooks,
                                                std::unique_ptr<Spool> spool) {
  std::unique_ptr<ExportQueue> queue(new ExportQueue(std::move(transport), std::move(settings),
                                                     std::move(hooks), std::move(spool)));
  queue->thread_ =
      std::thread([raw = queue.get(), aftermath = queue->Recover()] { raw->Run(aftermath); });
  return queue;
}

ExportQueue::ExportQueue(std::unique_ptr<Transport> transport, ExportQueueSettings settings,
                         ExportHooks hooks, std::unique_ptr<Spool> spool)
    : transport_(std::move(transport)),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      spans_(settings_.tracer, settings_.span_attributes, settings_.attempt_attributes),
      spool_(std::move(spool)),
      clock_(settings_.clock != nullptr ? settings_.clock : &real_clock_),
      backlog_(settings_.max_bytes, spool_ != nullptr ? spool_->settings().max_bytes : 0),
      schedule_(settings_.retry, settings_.jitter_seed),
      slow_schedule_(settings_.slow_retry, settings_.jitter_seed) {}

ExportQueue::~ExportQueue() { Stop(); }

// What an earlier process left, by its files' names alone: content is read when its turn comes.
Aftermath ExportQueue::Recover() {
  Aftermath aftermath;
  if (spool_ == nullptr) return aftermath;
  const Lock lock(mutex_);
  const ExportClock::Time now = clock_->Now();
  const int64_t now_ms = spool_->NowMs();
  for (const SpoolEntry& entry : spool_->torn()) {
    OutgoingPayload item = OutgoingPayload::Of(entry);
    backlog_.Enter(item, true);
    backlog_.Lose(std::move(item), LossReason::kSpoolDamaged, aftermath);
  }
  for (const SpoolEntry& entry : spool_->found()) {
    OutgoingPayload item = OutgoingPayload::Of(entry);
    // A clock that was set back makes nothing younger than new.
    const std::chrono::milliseconds age(std::max<int64_t>(now_ms - entry.added_unix_ms, 0));
    item.expires = now + (spool_->settings().max_age - std::min(age, spool_->settings().max_age));
    item.synced = true;
    item.recovered = true;
    backlog_.Enter(item, true);
    backlog_.Push(std::move(item), aftermath);
  }
  backlog_.MakeRoomOnDisk(0, aftermath);
  backlog_.Expire(now, aftermath);
  const DeliveryCounts& counts = backlog_.counts();
  if (counts.recovered.items > 0)
    aftermath.notes.push_back(
        fmt::format("the spool holds {} batches ({} {}) of an earlier run; {} {} in it were lost",
                    counts.queued_batches, counts.in_flight.items, settings_.traits->items,
                    counts.LostInAll().items, settings_.traits->items));
  return aftermath;
}

void ExportQueue::Add(Payload payload) {
  if (!payload.in_memory()) return;
  spans_.Enter(payload);
  Aftermath aftermath;
  OutgoingPayload item = OutgoingPayload::Of(std::move(payload));
  std::unique_lock adding(add_mutex_, std::defer_lock);
  if (spool_ != nullptr) adding.lock();  // The files' order is the queue's.
  Lock lock(mutex_);
  backlog_.Enter(item);
  if (!stopping_ && spool_ != nullptr &&
      backlog_.MakeRoomOnDisk(SpoolEntry::DiskBytes(item.bytes), aftermath)) {
    std::vector<SpoolEntry> files = std::exchange(aftermath.files, {});
    lock.unlock();
    absl::Status status;
    FindTraces(aftermath);
    for (const SpoolEntry& file : files) status.Update(spool_->Remove(file));
    const int64_t began_unix_ns = spans_.NowUnixNs();
    absl::StatusOr<SpoolEntry> entry = spool_->Write(item.payload);
    spans_.Spooled(item.trace, began_unix_ns, entry.ok());
    status.Update(entry.status());
    lock.lock();
    NoteSpool(status, aftermath);
    if (entry.ok()) {
      item.expires = clock_->Now() + spool_->settings().max_age;
      backlog_.SetEntry(item, *std::move(entry));
    } else {
      backlog_.counts().spool_write_failures += 1;
    }
  }
  if (stopping_)
    backlog_.Lose(std::move(item), LossReason::kShutdown, aftermath);
  else
    backlog_.Push(std::move(item), aftermath);
  lock.unlock();
  if (adding.owns_lock()) adding.unlock();
  wake_.notify_one();
  CleanUp(std::move(aftermath));
}

void ExportQueue::NoteSpool(const absl::Status& status, Aftermath& aftermath) {
  std::string& failing = backlog_.counts().spool_failing_with;
  if (status.message() == failing) return;
  // A file's name differs each time and is not worth a line of its own.
  const bool news = status.ok() || failing.empty();
  failing = std::string(status.message());
  if (!news) return;
  aftermath.notes.push_back(
      status.ok()
          ? std::string("the spool on disk works again")
          : fmt::format("the spool on disk fails: {}; batches that cannot be written wait in "
                        "memory and do not outlive this process",
                        failing));
}

// Of what an earlier process left and nobody has read, the ids lie in the file alone, which is
// still there.
void ExportQueue::FindTraces(Aftermath& aftermath) const {
  if (settings_.tracer == nullptr) return;
  for (EndedBatch& ended : aftermath.ended)
    if (ended.item.entry && !ended.item.trace.span.valid())
      ended.item.trace = spool_->ReadTrace(*ended.item.entry);
}

// By value: what is in it is freed here, without the lock.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void ExportQueue::CleanUp(Aftermath aftermath) {
  absl::Status status;
  FindTraces(aftermath);
  for (const EndedBatch& ended : aftermath.ended) spans_.End(ended);
  for (const SpoolEntry& file : aftermath.files) status.Update(spool_->Remove(file));
  {
    const Lock lock(mutex_);
    if (!status.ok()) NoteSpool(status, aftermath);
    if (backlog_.counts().queued_batches == 0) idle_.notify_all();
  }
  if (hooks_.on_lost)
    for (const auto& [reason, count] : aftermath.losses) hooks_.on_lost(reason, count);
  if (hooks_.on_note)
    for (const std::string& note : aftermath.notes) hooks_.on_note(note);
}

void ExportQueue::Run(const Aftermath& recovered) {
  CleanUp(recovered);
  Lock lock(mutex_);
  if (settings_.probe) ProbeReceiver(lock);
  while (!stopping_) {
    const ExportClock::Time now = clock_->Now();
    const ExportClock::Time due = std::max(not_before_, rate_limit_.next());
    Aftermath expired;
    backlog_.Expire(now, expired);
    if (!expired.empty()) {
      lock.unlock();
      CleanUp(std::move(expired));
      lock.lock();
    } else if (backlog_.empty()) {
      wake_.wait(lock);
    } else if (now >= due) {
      SendFront(lock);
    } else if (now >= not_before_ || !SyncSpool(lock)) {  // Keeping a pace is no outage.
      clock_->Wait(wake_, lock, std::min(due, backlog_.NextExpiry()));
    }
  }
}

void ExportQueue::ProbeReceiver(Lock& lock) {
  constexpr std::chrono::milliseconds kLongest{5'000};
  lock.unlock();
  const ProbeResult probe =
      Probe(*transport_, *settings_.traits, std::min(settings_.attempt_timeout, kLongest));
  lock.lock();
  const bool fails = !probe.answers && !stopping_;
  lock.unlock();
  if (fails && hooks_.on_note)
    hooks_.on_note(fmt::format("the receiver cannot be reached as of now: {}", probe.message));
  if (probe.answers && hooks_.on_answer) hooks_.on_answer();
  lock.lock();
}

// Only what has to wait is worth waiting for the disk: a receiver that is there costs no sync.
// False when there was nothing to do.
bool ExportQueue::SyncSpool(Lock& lock) {
  const std::vector<SpoolEntry> entries = backlog_.TakeUnsynced();
  if (entries.empty()) return false;
  lock.unlock();
  const absl::Status status = spool_->Sync(entries);
  Aftermath aftermath;
  if (!status.ok()) {
    lock.lock();
    NoteSpool(status, aftermath);
    lock.unlock();
  }
  CleanUp(std::move(aftermath));
  lock.lock();
  return true;
}

bool ExportQueue::Flush(std::chrono::milliseconds limit) {
  Lock lock(mutex_);
  if (!receiver_asked_) not_before_ = {};
  wake_.notify_one();
  idle_.wait_for(lock, limit,
                 [this] { return stopping_ || backlog_.counts().queued_batches == 0; });
  return backlog_.counts().queued_batches == 0;
}

// False when it had ended before. stop_mutex_ is held.
bool ExportQueue::EndThread() {
  {
    const std::lock_guard adding(add_mutex_);  // No batch is between its file and the queue.
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  idle_.notify_all();
  transport_->Cancel();
  if (!thread_.joinable()) return false;
  thread_.join();
  return true;
}

void ExportQueue::Stop() {
  const std::lock_guard stop_lock(stop_mutex_);
  if (EndThread()) KeepOrLoseRest();
}

std::vector<Payload> ExportQueue::TakeUnsent() {
  const std::lock_guard stop_lock(stop_mutex_);
  std::vector<Payload> unsent;
  if (!EndThread()) return unsent;
  const std::lock_guard adding(add_mutex_);
  const Lock lock(mutex_);
  const ItemCount left = backlog_.counts().spooled;
  for (OutgoingPayload& item : backlog_.TakeAll()) {
    backlog_.Withdraw(item);
    if (!item.entry) unsent.push_back(std::move(item.payload));
  }
  backlog_.counts().recovered -= left;
  backlog_.counts().spooled = left;
  spool_.reset();
  return unsent;
}

// The thread is gone and nothing is added any more.
void ExportQueue::KeepOrLoseRest() {
  Aftermath aftermath;
  Lock lock(mutex_);
  std::deque<OutgoingPayload> rest = backlog_.TakeAll();
  for (OutgoingPayload& item : rest) {
    if (!item.entry && spool_ != nullptr) {
      const uint64_t bytes = SpoolEntry::DiskBytes(item.bytes);
      if (backlog_.counts().spooled_bytes + bytes <= spool_->settings().max_bytes) {
        lock.unlock();
        absl::StatusOr<SpoolEntry> entry = spool_->Write(item.payload);
        lock.lock();
        if (entry.ok()) backlog_.SetEntry(item, *std::move(entry));
      }
    }
    if (item.entry)
      backlog_.Push(std::move(item), aftermath);
    else
      backlog_.Lose(std::move(item), LossReason::kShutdown, aftermath);
  }
  const std::vector<SpoolEntry> unsynced = backlog_.TakeUnsynced();
  if (const DeliveryCounts& counts = backlog_.counts(); counts.queued_batches > 0)
    aftermath.notes.push_back(fmt::format("{} batches ({} {}) stay in the spool for the next start",
                                          counts.queued_batches, counts.in_flight.items,
                                          settings_.traits->items));
  lock.unlock();
  absl::Status status;
  if (!unsynced.empty()) status = spool_->Sync(unsynced);
  if (!status.ok()) aftermath.notes.push_back(std::string(status.message()));
  CleanUp(std::move(aftermath));
}

DeliveryCounts ExportQueue::Counts() const {
  const Lock lock(mutex_);
  return backlog_.counts();
}

size_t ExportQueue::size_limit() const {
  const Lock lock(mutex_);
  return size_limit_.bytes();
}

}  // namespace stackray
