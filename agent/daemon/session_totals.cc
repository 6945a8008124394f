#include "agent/daemon/session_totals.h"

#include <algorithm>
#include <iterator>

namespace stackray {
namespace {

void AddLoop(const SampleLoopCounts& from, SampleLoopCounts* to) {
  to->samples += from.samples;
  to->events += from.events;
  to->damaged_records += from.damaged_records;
  to->finished_here += from.finished_here;
  to->guessed += from.guessed;
  to->batches += from.batches;
  to->lost += from.lost;
  to->sealed_samples += from.sealed_samples;
  for (size_t i = 0; i < from.ends.size(); ++i) to->ends[i] += from.ends[i];
}

}  // namespace

void TakerSpan::Return(const SessionMark& now) {
  if (!until) return;
  since.ring_full += now.ring_full - until->ring_full;
  since.scratch_busy += now.scratch_busy - until->scratch_busy;
  since.damaged_records += now.damaged_records - until->damaged_records;
  since.sealed += now.sealed - until->sealed;
  since.sent_captures += now.sent_captures - until->sent_captures;
  until.reset();
}

SessionMark MarkOf(const SessionCounts& counts) {
  return {.ring_full = counts.kernel.value[COUNT_RING_FULL],
          .scratch_busy = counts.kernel.value[COUNT_SCRATCH_BUSY],
          .damaged_records = counts.loop.damaged_records,
          .sealed = counts.loop.sealed_samples,
          .sent_captures = counts.sent_capture_samples};
}

void SessionTotals::AddEnded(const SessionCounts& ended,
                             const std::vector<Sampler::ProgramCost>& ended_programs) {
  *this = With(ended, ended_programs);
}

SessionTotals SessionTotals::With(const SessionCounts& running,
                                  const std::vector<Sampler::ProgramCost>& more) const {
  SessionTotals sum = *this;
  sum.counts.produced += running.produced;
  sum.counts.in_flight = running.in_flight;
  for (size_t i = 0; i < std::size(running.kernel.value); ++i)
    sum.counts.kernel.value[i] += running.kernel.value[i];
  for (size_t i = 0; i < std::size(running.kernel.end); ++i)
    sum.counts.kernel.end[i] += running.kernel.end[i];
  AddLoop(running.loop, &sum.counts.loop);
  sum.counts.frames.questions += running.frames.questions;
  sum.counts.frames.resolved += running.frames.resolved;
  sum.counts.frames.runtimes.code_reads += running.frames.runtimes.code_reads;
  sum.counts.frames.runtimes.captured_reads += running.frames.runtimes.captured_reads;
  sum.counts.frames.runtimes.stale += running.frames.runtimes.stale;
  sum.counts.frames.runtimes.gone += running.frames.runtimes.gone;
  sum.counts.frames.runtimes.left_alone += running.frames.runtimes.left_alone;
  sum.counts.frames.lines.cached += running.frames.lines.cached;
  sum.counts.frames.lines.answered += running.frames.lines.answered;
  sum.counts.frames.lines.deferred += running.frames.lines.deferred;
  sum.counts.frames.lines_cpu_ns += running.frames.lines_cpu_ns;
  sum.counts.tables = running.tables;
  sum.counts.contexts = running.contexts;
  sum.counts.map_bytes = running.map_bytes;
  sum.counts.cache_bytes = running.cache_bytes;
  for (const Sampler::ProgramCost& cost : more) {
    const auto same = std::ranges::find(sum.programs, cost.program, &Sampler::ProgramCost::program);
    if (same == sum.programs.end()) {
      sum.programs.push_back(cost);
    } else {
      same->run_time_ns += cost.run_time_ns;
      same->runs += cost.runs;
      same->verified_instructions = cost.verified_instructions;
    }
  }
  return sum;
}

}  // namespace stackray
