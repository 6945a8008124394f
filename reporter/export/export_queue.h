// The batches on their way to one receiver: bounded in bytes, sent in order by a thread of its own,
// resent as the same bytes until the receiver has them, and every sample accounted for.
//
//   auto queue = ExportQueue::Start(MakeTransport(settings), {}, hooks);
//   queue->Add(batch);                  // Never blocks.
//   …
//   queue->Flush(5s);                   // At the end: what can be delivered still is,
//   queue->Stop();                      // and what cannot is counted as lost.
//
// A receiver that is not there costs nothing but the queue's memory: batches wait, and when it is
// full the oldest go. Batches are resent after RESOURCE_EXHAUSTED, 429, 503 and the like as
// RetrySchedule says; one that is too large is split once, or as often as the receiver's own limit
// asks for.
#ifndef STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_
#define STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "reporter/export/delivery_counts.h"
#include "reporter/export/export_clock.h"
#include "reporter/export/retry_schedule.h"
#include "reporter/export/transport.h"

namespace stackray {

struct ExportQueueSettings {
  size_t max_bytes = 32 << 20;  // Of sealed batches, the one being sent included.
  std::chrono::milliseconds attempt_timeout{10'000};
  std::chrono::milliseconds max_retry_time{6 * 3'600'000};  // Of one batch, from its first attempt.
  RetryTimings retry;
  uint64_t jitter_seed = 0;
  ExportClock* clock = nullptr;  // Outlives the queue; nullptr: the real one.
};

// All are optional, and called without a lock held, from the producer's thread (on_lost) or the
// queue's. They may call Add() and Counts(), but not Flush() or Stop(), and must not block for
// long.
struct ExportHooks {
  // Samples that will never arrive; the caller puts markers for them into its next batch.
  std::function<void(LossReason, SampleCount)> on_lost;
  // A line for the log, when something changed: the receiver fails, fails otherwise, is back,
  // rejects.
  std::function<void(std::string_view text)> on_note;
  // Two or more complete batches that together say the same; empty where that cannot be done.
  std::function<std::vector<SealedBatchPtr>(const SealedBatch&)> split;
};

// Threads: all functions from any thread. Starting and adding never wait for the receiver.
class ExportQueue {
 public:
  static std::unique_ptr<ExportQueue> Start(std::unique_ptr<Transport> transport,
                                            ExportQueueSettings settings, ExportHooks hooks);
  ~ExportQueue();  // As Stop().

  // Takes a batch; nullptr is ignored. After Stop() it counts as lost.
  void Add(SealedBatchPtr batch);
  // Waits until nothing is in flight, at most `limit`; true when so. A backoff is cut short, once;
  // a wait that the receiver asked for is not.
  bool Flush(std::chrono::milliseconds limit);
  // Ends the attempt that runs; what is in flight then counts as lost. Returns when the thread is
  // gone.
  void Stop();
  // All numbers of the same moment.
  DeliveryCounts Counts() const;

 private:
  struct Item {
    SealedBatchPtr batch;
    int splits = 0;  // How often it was halved before it got this small.
    bool attempted = false;
    ExportClock::Time first_attempt;
  };
  // What must happen once the lock is released.
  struct Aftermath {
    std::vector<std::pair<LossReason, SampleCount>> losses;
    std::vector<SealedBatchPtr> garbage;
    std::string note;
  };

  ExportQueue(std::unique_ptr<Transport> transport, ExportQueueSettings settings,
              ExportHooks hooks);
  void Run();
  bool WaitForWork(std::unique_lock<std::mutex>& lock);
  void SendFront(std::unique_lock<std::mutex>& lock);
  void Settle(Item item, const SendResult& result, Aftermath& aftermath);
  void Retry(Item item, const SendResult& result, Aftermath& aftermath);
  void Delivered(Item item, const SendResult& result, Aftermath& aftermath);
  bool MaySplit(const Item& item) const;
  std::vector<SealedBatchPtr> Split(const Item& item) const;
  void PutHalves(Item item, const std::vector<SealedBatchPtr>& halves, Aftermath& aftermath);
  void Lose(Item item, LossReason reason, Aftermath& aftermath);
  void DropOldestFor(size_t bytes, Aftermath& aftermath);
  void NoteFailure(const std::string& message, Aftermath& aftermath);
  void RunHooks(Aftermath aftermath) const;

  const std::unique_ptr<Transport> transport_;
  const ExportQueueSettings settings_;
  const ExportHooks hooks_;
  ExportClock real_clock_;
  ExportClock* const clock_;

  mutable std::mutex mutex_;      // Guards all below but thread_.
  std::condition_variable wake_;  // The exporter: work, or the end.
  std::condition_variable idle_;  // Flush(): nothing in flight.
  std::deque<Item> waiting_;      // Oldest first; the one being sent is not in it.
  RetrySchedule schedule_;
  ExportClock::Time not_before_{};  // Of the next attempt.
  bool receiver_asked_ = false;     // not_before_ is the receiver's wish.
  bool stopping_ = false;
  DeliveryCounts counts_;  // queued_* and in_flight included.
  std::mutex stop_mutex_;  // One Stop() at a time; guards thread_.
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_
