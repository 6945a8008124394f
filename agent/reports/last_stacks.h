// The last stacks of threads that a signal has ended, as the session takes them: kept for the
// report that the signal's trigger makes.
//
// Bounds:  the batches of the last 16 seals, 1 MiB together.
// Threads: one (the agent's loop).
#ifndef STACKRAY_AGENT_REPORTS_LAST_STACKS_H_
#define STACKRAY_AGENT_REPORTS_LAST_STACKS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/sampling/process_dump.h"
#include "agent/sampling/sampling_session.h"

namespace stackray {

class LastStacks {
 public:
  // Takes them from now on. `session` is lent until End(). Takes some seconds of CPU. Errors: as
  // SamplingSession::StartCapture().
  absl::Status Begin(SamplingSession& session);
  void End();
  bool has_begun() const { return session_ != nullptr; }

  // A dump of one thread. nullopt: its sample is not there, or not yet.
  std::optional<ProcessDump> Of(uint32_t pid, uint32_t tid);

 private:
  void OnSealed(const SealedBatchPtr& batch);

  SamplingSession* session_ = nullptr;  // Lent.
  int capture_ = 0;
  std::deque<SealedBatchPtr> batches_;  // The newest last.
  size_t bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_LAST_STACKS_H_
