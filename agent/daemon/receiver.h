// One OTLP receiver of the agent: its queue, and what was lost on the way, told to it in batches of
// its own.
#ifndef STACKRAY_AGENT_DAEMON_RECEIVER_H_
#define STACKRAY_AGENT_DAEMON_RECEIVER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/daemon/loss_batch.h"
#include "agent/daemon/receiver_plan.h"
#include "agent/daemon/session_totals.h"
#include "reporter/export/export_queue.h"

namespace stackray {

// Threads: all functions from the agent's loop.
class Receiver {
 public:
  // What one leaves to its successor with other settings: counts, and what it has not delivered.
  struct Legacy {
    TakerSpan span;
    DeliveryCounts counts;                 // Nothing is in flight.
    std::map<double, LostSamples> losses;  // Not told yet, by sampling frequency.
    std::vector<Payload> unsent;
    std::string spool_directory, endpoint;  // Where the rest of it waits on disk.
  };

  // Never waits for the other side. `span`: what the session had done by now. Where its spool
  // cannot be used it works in memory alone, and logs why.
  // `tracer`: of the spans of its batches; outlives this, or is nullptr.
  static std::unique_ptr<Receiver> Start(ReceiverPlan plan, const TakerSpan& span,
                                         Tracer* tracer = nullptr);
  static std::unique_ptr<Receiver> Succeed(ReceiverPlan plan, Legacy legacy,
                                           Tracer* tracer = nullptr);
  // Ends it, the attempt that runs included, and its spool is free for another.
  static Legacy Retire(std::unique_ptr<Receiver> receiver);

  void Add(Payload payload) { queue_->Add(std::move(payload)); }
  // Sends markers for what was lost since the last time. While the receiver takes nothing they
  // wait as numbers, not in a queue that may be full, by the frequency that held when they were
  // lost.
  void SendLosses(const BatchSettings& settings, int64_t now_unix_ns, bool at_the_end);
  // Those of its predecessors included.
  DeliveryCounts Counts() const;
  // The bytes of a request that it is known to take; 0: it has refused none.
  size_t size_limit() const { return queue_->size_limit(); }

  // Wakes the exporter, which waits after a failure; returns at once.
  void BeginFlush() { queue_->Flush(std::chrono::milliseconds(0)); }
  // Delivers what it can within `limit`; the rest stays in the spool, or is lost and counted.
  void Finish(std::chrono::milliseconds limit);

  const ReceiverPlan& plan() const { return plan_; }
  const TakerSpan& span() const { return span_; }
  TakerSpan& span() { return span_; }

 private:
  Receiver(ReceiverPlan plan, const TakerSpan& span, Tracer* tracer);
  void OnLost(LossReason reason, ItemCount count);
  void OnNote(std::string_view text) const;
  void KeepLossesOf(double frequency_hz);

  const ReceiverPlan plan_;
  TakerSpan span_;
  DeliveryCounts before_;  // Of predecessors.
  std::array<std::atomic<uint64_t>, kLossReasons> losses_{};
  double losses_hz_ = 0;  // Of losses_; 0: nobody said.
  std::map<double, LostSamples>
      losses_at_;                       // Not told yet, of frequencies before. At most a handful.
  std::unique_ptr<ExportQueue> queue_;  // Last: its thread uses losses_.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_RECEIVER_H_
