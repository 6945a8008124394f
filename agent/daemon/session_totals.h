// The counts of all sessions that this process has run: a reload may replace the session, and the
// numbers go on.
// Threads: one.
#ifndef STACKRAY_AGENT_DAEMON_SESSION_TOTALS_H_
#define STACKRAY_AGENT_DAEMON_SESSION_TOTALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/sampling/sampling_session.h"
#include "kernel/sampler.h"

namespace stackray {

// What had become of the samples when a sink of batches began: these were never meant for it.
struct SessionMark {
  uint64_t ring_full = 0, scratch_busy = 0, damaged_records = 0;
  uint64_t sealed = 0;         // Left in batches.
  uint64_t sent_captures = 0;  // Of captures, beside these.

  uint64_t settled() const { return ring_full + scratch_busy + damaged_records + sealed; }
};

// The part of the session that is a sink's.
struct TakerSpan {
  SessionMark since;
  std::optional<SessionMark> until;  // It goes, and gets nothing more.

  void Leave(const SessionMark& now) { until = now; }
  // It comes back before it was gone: what happened between was not for it.
  void Return(const SessionMark& now);
};

// Of any counts, also summed ones.
SessionMark MarkOf(const SessionCounts& counts);

struct SessionTotals {
  SessionCounts counts;  // Sizes and what is in flight are the running session's.
  std::vector<Sampler::ProgramCost> programs;

  // What a session that was stopped has counted is kept.
  void AddEnded(const SessionCounts& ended, const std::vector<Sampler::ProgramCost>& programs);
  // Everything so far.
  SessionTotals With(const SessionCounts& running,
                     const std::vector<Sampler::ProgramCost>& programs) const;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_SESSION_TOTALS_H_
