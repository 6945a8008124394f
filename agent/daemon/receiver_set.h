// All receivers of the agent, each with a queue and a thread of its own: a slow one holds up
// nobody. A reload keeps those whose settings stayed the same, untouched; replaces those whose
// settings changed, and hands them over what waits; and lets those go that are in the settings no
// longer, once they have delivered what they can.
#ifndef STACKRAY_AGENT_DAEMON_RECEIVER_SET_H_
#define STACKRAY_AGENT_DAEMON_RECEIVER_SET_H_

#include <chrono>
#include <memory>
#include <vector>

#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/receiver.h"
#include "agent/daemon/receiver_plan.h"

namespace stackray {

// Threads: one.
class ReceiverSet {
 public:
  // `tracer`: of the batches' spans; outlives this, or is nullptr.
  explicit ReceiverSet(Tracer* tracer = nullptr) : tracer_(tracer) {}

  // `now`: what the session had done, for newcomers. Those that go have `flush_limit` for it.
  void Apply(std::vector<ReceiverPlan> plans, const SessionMark& now,
             std::chrono::milliseconds flush_limit);

  // A line in the log for each: where batches go, how often, and what waits while it is away.
  void SayWhereTo(int64_t seal_interval_ms) const;

  // `trace`: what is known of its span, which each receiver makes for itself.
  void Add(const SealedBatchPtr& batch, const BatchTrace& trace = {});
  void SendLosses(const BatchSettings& settings, int64_t now_unix_ns, bool at_the_end = false);
  // Ends those whose time to go has come. Cheap.
  void LetGo();
  // The smallest size that any of them is known to take; 0: none has refused one for its size.
  size_t SizeLimit() const;
  bool empty() const { return receivers_.empty() && leaving_.empty(); }
  std::vector<const Receiver*> All() const;  // Also those that are about to go.

  // Delivers what they can within `limit`, all at the same time; the rest stays in the spools, or
  // is lost and counted.
  void Finish(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  struct Leaving {
    std::unique_ptr<Receiver> receiver;
    Clock::time_point until;
  };
  std::unique_ptr<Receiver> TakeFor(const ReceiverPlan& plan, bool by_name);

  Tracer* const tracer_;
  std::vector<std::unique_ptr<Receiver>> receivers_;  // In the order of the settings.
  std::vector<Leaving> leaving_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_RECEIVER_SET_H_
