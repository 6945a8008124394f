// The agent's traces of its own work: the tracer that everything asks for spans, and the receiver
// that gets them. Off, and then free of cost, unless the settings ask for it.
//
// Never in the way of profiles: spans wait in a small buffer of their own, their receiver has a
// thread and a spool of its own, and what does not fit is dropped and counted.
// Threads: the agent's loop, but for tracer().
#ifndef STACKRAY_AGENT_DAEMON_OWN_TRACES_H_
#define STACKRAY_AGENT_DAEMON_OWN_TRACES_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/receiver.h"
#include "agent/daemon/traces_plan.h"
#include "reporter/batch.h"
#include "reporter/traces/tracer.h"

namespace stackray {

class OwnTraces {
 public:
  // At the start and at each reload; what waits goes to the new receiver. `host`: of the resource.
  void Apply(std::optional<TracesPlan> plan, const BatchSettings& host);
  Tracer& tracer() { return tracer_; }
  int64_t NowUnixNs() const { return tracer_.NowUnixNs(); }

  // A span that begins a trace and has ended, with children that each took place in it.
  struct Step {
    Literal name;
    int64_t start_unix_ns = 0, end_unix_ns = 0;
    Literal problem{};
  };
  void EndWork(Step work, const std::vector<Step>& children,
               std::vector<SpanAttribute> attributes = {});

  // Hands over what has ended, once a second. Cheap.
  void Look(uint64_t now_ns);
  // Hands over all that is left and waits for it, at most `limit`.
  void Finish(std::chrono::milliseconds limit);

  std::optional<TracesSnapshot> Snapshot() const;

 private:
  void HandOver();

  Tracer tracer_;
  std::optional<TracesPlan> plan_;
  std::string resource_;
  std::unique_ptr<Receiver> receiver_;  // nullptr: off.
  uint64_t next_look_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_OWN_TRACES_H_
