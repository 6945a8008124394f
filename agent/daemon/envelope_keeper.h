// Keeps the agent inside its budgets: measures it about once a second, asks Envelope what to give
// up or take back, and does it to the session and the history.
//
// Beside the steps, the unwind tables are bounded so that all BPF maps together stay inside their
// budget from the start: they alone grow.
//
// CPU is the process's own time and that of its BPF programs: as the kernel counts it where
// kernel.bpf_stats_enabled is 1, else by the frames that they walked and the waits that they saw.
// Answers of the page are left out: they have a pace of their own, and nothing that is given up
// here would make them cheaper.
//
// Cost: 10 us a second. Threads: the agent's loop.
#ifndef STACKRAY_AGENT_DAEMON_ENVELOPE_KEEPER_H_
#define STACKRAY_AGENT_DAEMON_ENVELOPE_KEEPER_H_

#include <cstdint>
#include <string>

#include "agent/daemon/envelope_status.h"
#include "agent/daemon/local_history.h"
#include "agent/envelope/envelope.h"
#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"

namespace stackray {

class EnvelopeKeeper {
 public:
  explicit EnvelopeKeeper(const EnvelopeTimings& timings = {})
      : timings_(timings), envelope_({}, {}, timings) {}

  // At the start, and whenever the settings, the session or the history were replaced: what is
  // given up now holds for them, too. Both are lent for the call.
  void Configure(const AgentSettings& settings, SamplingSession& session, LocalHistory& history);
  // Any time; does something once a second. `now_ns`: CLOCK_BOOTTIME. `left_out_cpu_ns`: CPU time
  // of the page's answers so far.
  void Look(uint64_t now_ns, uint64_t left_out_cpu_ns, SamplingSession& session,
            LocalHistory& history);

  // Captures run beside the continuous profile, or none does: they are slowed down before it is.
  void SetCapturesRun(bool captures_run);
  int captures_level() const {
    return status_.levels[static_cast<size_t>(EnvelopeStep::kCaptures)];
  }

  const EnvelopeStatus& status() const { return status_; }

 private:
  SessionLimits LimitsOf(const SamplingSession& session, const StepLevels& levels) const;
  void Apply(SamplingSession& session, LocalHistory& history);
  uint64_t BpfNs(SamplingSession& session);
  std::string Usage() const;
  void LogChange(const SessionLimits& before, const StepLevels& levels_before) const;

  const EnvelopeTimings timings_;
  Envelope envelope_;
  EnvelopeStatus status_;
  EnvelopeUsage usage_;
  uint64_t next_look_ns_ = 0;
  bool captures_run_ = false;
  // Of the session at hand.
  const SamplingSession* session_ = nullptr;
  uint64_t seen_run_ns_ = 0, seen_guess_ns_ = 0, bpf_ns_ = 0;
};

// Resident memory of this process, /proc/self/statm; 0: unreadable.
uint64_t ResidentBytes();
// The largest row store with which all maps stay inside the budget; `fixed_bytes`: the other maps.
// Never less than what a row store needs. Without a budget (0): no bound.
uint64_t TableBytesWithin(uint64_t bpf_budget_bytes, uint64_t fixed_bytes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_ENVELOPE_KEEPER_H_
