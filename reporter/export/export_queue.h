// The payloads of one signal on their way to one receiver, which are called batches here: bounded
// in bytes, sent in order by a thread of its own, resent as the same bytes until the receiver has
// them, and every item accounted for. Each signal has a queue of its own, so that a receiver that
// refuses one does not hold up another.
//
//   auto queue = ExportQueue::Start(MakeTransport(settings), {}, hooks, std::move(spool));
//   queue->Add(Payload::Of(batch));     // Never waits for the receiver.
//   …
//   queue->Flush(5s);                   // At the end: what can be delivered still is,
//   queue->Stop();                      // and what cannot stays in the spool, or counts as lost.
//
// With a spool each batch is written to disk by Add(), before it is sent, and its file is removed
// when the receiver has answered; in memory are then the batch that is being sent and the one
// behind it. Without one, and while the disk is full or broken, batches wait in memory. When a
// bound is reached the oldest go. docs/delivery.md has the promises and what each answer leads to.
#ifndef STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_
#define STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "reporter/export/backlog.h"
#include "reporter/export/delivery_counts.h"
#include "reporter/export/delivery_spans.h"
#include "reporter/export/export_clock.h"
#include "reporter/export/rate_limit.h"
#include "reporter/export/retry_schedule.h"
#include "reporter/export/signal_traits.h"
#include "reporter/export/size_limit.h"
#include "reporter/export/transport.h"
#include "reporter/spool/spool.h"

namespace stackray {

struct ExportQueueSettings {
  size_t max_bytes = 32 << 20;  // Of sealed batches in memory, the one being sent included.
  std::chrono::milliseconds attempt_timeout{10'000};
  std::chrono::milliseconds max_retry_time{6 * 3'600'000};  // Of one batch, from its first attempt.
  bool probe = false;  // Ask the receiver at once whether it answers, and tell on_note.
  RetryTimings retry;
  // After an answer that holds until somebody changes something: credentials are refused, or
  // nothing takes the signal there.
  RetryTimings slow_retry{
      .first = std::chrono::seconds(30), .factor = 2, .longest = std::chrono::minutes(5)};
  uint64_t jitter_seed = 0;
  ExportClock* clock = nullptr;  // Outlives the queue; nullptr: the real one.
  const SignalTraits* traits = &TraitsOf(Signal::kProfiles);  // Outlives the queue.
  // Of the batches' spans: DeliverySpans. nullptr: there are none; else it outlives the queue.
  Tracer* tracer = nullptr;
  std::vector<SpanAttribute> span_attributes, attempt_attributes;
};

// All are optional, and called without a lock held, from the producer's thread (on_lost) or the
// queue's. They may call Add() and Counts(), but not Flush() or Stop(), and must not block for
// long.
struct ExportHooks {
  // Items that will never arrive; the caller puts markers for them into its next batch.
  std::function<void(LossReason, ItemCount)> on_lost;
  // A line for the log, when something changed: the receiver fails, fails otherwise, is back,
  // rejects.
  std::function<void(std::string_view text)> on_note;
  // The receiver has answered the question at the start.
  std::function<void()> on_answer;
};

// Threads: all functions from any thread. Starting and adding never wait for the receiver; adding
// waits for the file system where there is a spool, but not for its disk (no sync).
class ExportQueue {
 public:
  // `spool`: null for memory alone. What an earlier process left in it is sent first; what of that
  // is damaged or too old counts as lost, and is told to on_lost.
  static std::unique_ptr<ExportQueue> Start(std::unique_ptr<Transport> transport,
                                            ExportQueueSettings settings, ExportHooks hooks,
                                            std::unique_ptr<Spool> spool = nullptr);
  ~ExportQueue();  // As Stop(); closes the spool.

  // Takes a batch; one without bytes is ignored. Once it returns, and there is a spool that works,
  // the batch outlives this process. After Stop() it counts as lost.
  void Add(Payload payload);
  // Waits until nothing is in flight, at most `limit`; true when so. A backoff is cut short, once;
  // a wait that the receiver asked for is not.
  bool Flush(std::chrono::milliseconds limit);
  // Ends the attempt that runs. What is in the spool stays there, and in flight, for the next
  // process; what cannot be written there counts as lost. Returns when the thread is gone.
  void Stop();
  // As Stop(), and closes the spool, for another queue to go on (settings that were changed at run
  // time). Returns what waits in memory alone, oldest first, for that one's Add(). What waits in
  // the spool is found by the queue that opens it next. Neither is in Counts() any more, as if it
  // had never come here, so that the sum of both queues' counts is exact: `produced` is less by it,
  // and `recovered`, which the next queue raises by what it finds, less by what stays on disk
  // (modulo 2^64). `spooled` alone still says how much that is.
  std::vector<Payload> TakeUnsent();
  // All numbers of the same moment.
  DeliveryCounts Counts() const;
  // The bytes of a request that the receiver is known to take, 0 while it has refused none: seal
  // batches under it, and none needs to be split. It may change with every answer.
  size_t size_limit() const;

 private:
  struct Parts {
    std::vector<OutgoingPayload> batches;  // Empty: it could not be split.
    absl::Status spool_status;
  };
  // What is to be done with a batch before it is sent.
  struct Plan {
    bool halve = false;
    size_t units_each = 0;  // 0: any number.
  };
  struct Outcome {
    Parts parts;  // Instead of the batch, where there are any.
    bool sent = false;
    SendResult result;
    size_t units = 0;  // In the batch, after kOverLimit; 0: not known.
    absl::Status removed;
  };
  using Lock = std::unique_lock<std::mutex>;

  ExportQueue(std::unique_ptr<Transport> transport, ExportQueueSettings settings, ExportHooks hooks,
              std::unique_ptr<Spool> spool);
  // export_queue.cc: the thread, and what comes in.
  Aftermath Recover();
  void Run(const Aftermath& recovered);
  void ProbeReceiver(Lock& lock);
  bool SyncSpool(Lock& lock);
  bool EndThread();
  void KeepOrLoseRest();
  void NoteSpool(const absl::Status& status, Aftermath& aftermath);
  void FindTraces(Aftermath& aftermath) const;
  // Removes files and calls hooks. Without the lock.
  void CleanUp(Aftermath aftermath);

  // export_attempt.cc: one attempt. With the lock, but Try() and Replace().
  void SendFront(Lock& lock);
  bool Load(OutgoingPayload& item, Lock& lock, Aftermath& aftermath);
  Plan MakePlan(const OutgoingPayload& item);
  Outcome Try(const OutgoingPayload& item, const Plan& plan) const;
  SendResult Send(const OutgoingPayload& item) const;
  size_t CountUnits(const OutgoingPayload& item) const;
  bool MayHalve(const OutgoingPayload& item) const;
  Parts Replace(const OutgoingPayload& item, std::vector<Payload> batches, bool sync) const;
  void PutParts(OutgoingPayload item, Parts parts, Aftermath& aftermath);

  // export_answer.cc: what follows from the answer. With the lock.
  void Learn(const OutgoingPayload& item, const SendResult& result);
  void Settle(OutgoingPayload item, const Outcome& outcome, Aftermath& aftermath);
  void Retry(OutgoingPayload item, const SendResult& result, RetrySchedule& schedule,
             Aftermath& aftermath);
  void PutBackOrGiveUp(OutgoingPayload item, Aftermath& aftermath);
  void Delivered(OutgoingPayload item, const SendResult& result, Aftermath& aftermath);
  void CountPartlyRejected(OutgoingPayload& item, uint64_t units);
  void OverLimit(OutgoingPayload item, const Outcome& outcome, Aftermath& aftermath);
  void NoteFailure(const std::string& message, Aftermath& aftermath);

  const std::unique_ptr<Transport> transport_;
  const ExportQueueSettings settings_;
  const ExportHooks hooks_;
  const DeliverySpans spans_;
  std::unique_ptr<Spool> spool_;  // Null: none, or taken away when all else has ended.
  ExportClock real_clock_;
  ExportClock* const clock_;

  std::mutex add_mutex_;          // One writer to the spool at a time; taken before mutex_.
  mutable std::mutex mutex_;      // Guards all below but thread_.
  std::condition_variable wake_;  // The exporter: work, or the end.
  std::condition_variable idle_;  // Flush(): nothing in flight, or the end.
  Backlog backlog_;
  RetrySchedule schedule_, slow_schedule_;
  SizeLimit size_limit_;
  RateLimit rate_limit_;
  ExportClock::Time not_before_{};  // Of the next attempt.
  bool receiver_asked_ = false;     // not_before_ is the receiver's wish.
  bool stopping_ = false;
  std::mutex stop_mutex_;  // One Stop() at a time; guards thread_.
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_EXPORT_QUEUE_H_
