#include "agent/daemon/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/sampling/markers.h"
#include "agent/sampling/session_settings.h"

namespace stackray {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One metric name with its help and rows.
class Family {
 public:
  Family(std::string name, std::string help, prometheus::MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }
  Family& Row(double value, const Labels& labels = {}) {
    prometheus::ClientMetric metric;
    for (const auto& [name, label] : labels) metric.label.push_back({name, label});
    if (family_.type == prometheus::MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

Family Counter(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Counter};
}
Family Gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge};
}

using Families = std::vector<prometheus::MetricFamily>;

double Number(uint64_t value) { return static_cast<double>(value); }

void AddAgent(const AgentSnapshot& s, Families* out) {
  out->push_back(Gauge("stackray_build_info", "Always 1; the version is a label.")
                     .Row(1, {{"version", kAgentVersion}})
                     .Take());
  out->push_back(Gauge("stackray_snapshot_sequence",
                       "Number of this set of figures; agent --status has the same.")
                     .Row(Number(s.sequence))
                     .Take());
  out->push_back(
      Gauge("stackray_uptime_seconds", "Time since the agent began.").Row(s.uptime_seconds).Take());
  Family gap =
      Gauge("stackray_unclean_stop_gap_seconds",
            "Time without sampling before this agent, where the one before it did not stop "
            "in order; absent where it did.");
  if (s.unclean_stop && s.unclean_stop->gap_seconds) gap.Row(*s.unclean_stop->gap_seconds);
  out->push_back(gap.Take());
  const ForeignReadCounts& reads = s.foreign_reads;
  out->push_back(Counter("stackray_foreign_reads_left_alone_total",
                         "Reads of other processes' memory and files that did not return (hung), "
                         "and that were therefore not tried (refused).")
                     .Row(Number(reads.left_alone.hangs), {{"result", "hung"}})
                     .Row(Number(reads.left_alone.refusals), {{"result", "refused"}})
                     .Take());
  out->push_back(Gauge("stackray_left_alone",
                       "Processes, and users with all of theirs, of which nothing is read now; "
                       "readers that still wait for them.")
                     .Row(Number(reads.left_alone.processes), {{"what", "processes"}})
                     .Row(Number(reads.left_alone.owners), {{"what", "users"}})
                     .Row(Number(reads.readers_hanging), {{"what", "readers"}})
                     .Take());
  out->push_back(Counter("stackray_log_lines_held_back_total",
                         "Lines of the log that were not shown because many were like them.")
                     .Row(Number(s.log_lines_held_back))
                     .Take());
}

void AddSampling(const AgentSnapshot& s, Families* out) {
  const SessionCounts& session = s.session.counts;
  out->push_back(Counter("stackray_samples_produced_total", "Samples that were to be delivered.")
                     .Row(Number(session.produced))
                     .Take());
  Family stacks = Counter("stackray_stacks_total",
                          "Samples by how the walk of their user stack ended; complete: whether "
                          "that is known to be its outermost frame, or none without such a stack.");
  for (uint32_t end = 1; end < END_REASON_COUNT; ++end) {
    if (session.loop.ends[end] == 0) continue;
    const char* complete = IsCompleteEnd(end) ? "yes" : HasUserStack(end) ? "no" : "none";
    stacks.Row(Number(session.loop.ends[end]),
               {{"end", std::string(EndName(end))}, {"complete", complete}});
  }
  out->push_back(stacks.Take());
  out->push_back(Counter("stackray_frames_total", "Frames by where they ran.")
                     .Row(Number(session.kernel.value[COUNT_USER_FRAMES]), {{"type", "user"}})
                     .Row(Number(session.kernel.value[COUNT_KERNEL_FRAMES]), {{"type", "kernel"}})
                     .Take());
  out->push_back(
      Counter("stackray_need_questions_total", "Frames by the need question's answer.")
          .Row(Number(session.frames.resolved), {{"answer", "needed"}})
          .Row(Number(session.frames.questions - session.frames.resolved), {{"answer", "known"}})
          .Take());
}

// What JIT compilers say of their code (interpreters/jit/README.md).
void AddJitCode(const JitCounts& jit, Families* out) {
  out->push_back(Counter("stackray_jit_sources_total",
                         "Sources of names of JIT code that were found in sampled processes.")
                     .Row(Number(jit.perf_maps), {{"source", "perf map"}})
                     .Row(Number(jit.jit_dumps), {{"source", "jitdump"}})
                     .Row(Number(jit.gdb_lists), {{"source", "gdb list"}})
                     .Take());
  out->push_back(Counter("stackray_jit_functions_total",
                         "Functions that these sources named; damaged: entries that make no sense; "
                         "forgotten: there was no room.")
                     .Row(Number(jit.functions), {{"result", "read"}})
                     .Row(Number(jit.damaged), {{"result", "damaged"}})
                     .Row(Number(jit.forgotten), {{"result", "forgotten"}})
                     .Take());
  out->push_back(Counter("stackray_jit_readings_over_time_total",
                         "Readings of such a source that were broken off at their time limit.")
                     .Row(Number(jit.too_slow))
                     .Take());
  Family refused =
      Counter("stackray_jit_files_refused_total", "Perf maps and jitdumps that do not count.");
  for (const auto& [reason, files] : jit.refused) refused.Row(Number(files), {{"reason", reason}});
  out->push_back(refused.Take());
}

void AddSourceLines(const AgentSnapshot& s, Families* out) {
  const FrameResolver::Counts& frames = s.session.counts.frames;
  out->push_back(Counter("stackray_source_lines_total",
                         "Needed native frames by where their inlined functions and lines came "
                         "from; deferred: they went out "
                         "with the function's name alone.")
                     .Row(Number(frames.lines.cached), {{"from", "cache"}})
                     .Row(Number(frames.lines.answered), {{"from", "files"}})
                     .Row(Number(frames.lines.deferred), {{"from", "deferred"}})
                     .Take());
  out->push_back(Counter("stackray_runtime_names_total",
                         "Names of interpreters' code: read; captured: of these, from what was "
                         "sampled along with the stack; stale: the memory held "
                         "other code by then; gone: the process had ended; left_alone: reads "
                         "of the process did not return.")
                     .Row(Number(frames.runtimes.code_reads), {{"result", "read"}})
                     .Row(Number(frames.runtimes.captured_reads), {{"result", "captured"}})
                     .Row(Number(frames.runtimes.stale), {{"result", "stale"}})
                     .Row(Number(frames.runtimes.gone), {{"result", "gone"}})
                     .Row(Number(frames.runtimes.left_alone), {{"result", "left_alone"}})
                     .Take());
  AddJitCode(frames.jit, out);
  out->push_back(Counter("stackray_source_lines_cpu_seconds_total",
                         "CPU time of the thread that looks up inlined functions and lines.")
                     .Row(static_cast<double>(frames.lines_cpu_ns) / 1e9)
                     .Take());
}

void AddAsyncParents(const AgentSnapshot& s, Families* out) {
  const auto& kernel = s.session.counts.kernel.value;
  out->push_back(Counter("stackray_async_parents_total",
                         "frame: frames of functions that await those of a stack; cut: stacks "
                         "where what awaits further out is not known.")
                     .Row(Number(kernel[COUNT_ASYNC_PARENTS]), {{"result", "frame"}})
                     .Row(Number(kernel[COUNT_ASYNC_CUT]), {{"result", "cut"}})
                     .Take());
}

// What threads work on (docs/context.md).
void AddContexts(const AgentSnapshot& s, Families* out) {
  const SessionCounts& session = s.session.counts;
  const auto& kernel = session.kernel.value;
  out->push_back(
      Counter("stackray_context_samples_total",
              "Samples of processes whose threads say what they work on, by what was found; "
              "cut: of those with something, labels were left out.")
          .Row(Number(kernel[COUNT_CONTEXTS]), {{"result", "attached"}})
          .Row(Number(kernel[COUNT_CONTEXT_EMPTY]), {{"result", "nothing attached"}})
          .Row(Number(kernel[COUNT_CONTEXT_INVALID]), {{"result", "invalid record"}})
          .Row(Number(kernel[COUNT_CONTEXT_FAULT]), {{"result", "unreadable"}})
          .Row(Number(kernel[COUNT_CONTEXT_CUT]), {{"result", "cut"}})
          .Take());
  out->push_back(Gauge("stackray_context_processes",
                       "Processes whose threads are to say what they work on: read, or not found "
                       "(explain PID says why).")
                     .Row(Number(session.contexts.processes), {{"state", "read"}})
                     .Row(Number(session.contexts.unresolved), {{"state", "not found"}})
                     .Take());
  out->push_back(Counter("stackray_context_processes_without_room_total",
                         "Times that more processes had thread contexts than there is room for.")
                     .Row(Number(session.contexts.no_room))
                     .Take());
}

// What became of the samples that each sink was to have.
void AddTakers(const AgentSnapshot& s, Families* out) {
  Family due =
      Counter("stackray_samples_due_total",
              "Samples a receiver was to have: produced since it is configured, and what an "
              "earlier agent left on disk for it. Equals delivered + lost + in flight.");
  Family delivered = Counter("stackray_samples_delivered_total", "Samples a receiver has taken.");
  Family lost = Counter("stackray_samples_lost_total", "Samples a receiver will never have.");
  Family in_flight = Gauge("stackray_samples_in_flight", "Samples on their way to a receiver.");
  for (const TakerCounts& taker : s.takers) {
    const Labels labels = {{"receiver", taker.name}};
    due.Row(Number(taker.due), labels);
    delivered.Row(Number(taker.delivered), labels);
    in_flight.Row(Number(taker.in_flight), labels);
    for (const auto& [reason, samples] : taker.lost)
      lost.Row(Number(samples), {{"receiver", taker.name}, {"reason", reason}});
  }
  for (Family* family : {&due, &delivered, &lost, &in_flight}) out->push_back(family->Take());
}

void AddReceivers(const AgentSnapshot& s, Families* out) {
  const auto each = [&](Family family, auto value) {
    for (const ReceiverSnapshot& receiver : s.receivers)
      family.Row(static_cast<double>(value(receiver.counts)), {{"receiver", receiver.name}});
    out->push_back(family.Take());
  };
  using Counts = const DeliveryCounts&;
  each(Gauge("stackray_receiver_failing", "1 while a receiver does not take batches."),
       [](Counts c) { return c.failing_with.empty() ? 0 : 1; });
  each(Counter("stackray_receiver_attempts_total", "Requests that were sent."),
       [](Counts c) { return c.attempts; });
  each(Counter("stackray_receiver_retries_total", "Requests that have to be sent again."),
       [](Counts c) { return c.retries; });
  each(Counter("stackray_receiver_splits_total", "Batches halved because they were too large."),
       [](Counts c) { return c.splits; });
  each(Counter("stackray_receiver_partly_rejected_profiles_total",
               "Profiles, at most, that a receiver left out of batches it has taken."),
       [](Counts c) { return c.partly_rejected_units; });
  each(Counter("stackray_receiver_partly_rejected_samples_total",
               "Samples in those batches: at most so many of the delivered ones were left out."),
       [](Counts c) { return c.partly_rejected.without_markers(); });
  each(Gauge("stackray_receiver_queue_batches", "Batches that wait, in memory or on disk."),
       [](Counts c) { return c.queued_batches; });
  each(Gauge("stackray_receiver_queue_bytes", "Memory of batches that wait."),
       [](Counts c) { return c.queued_bytes; });
  each(Gauge("stackray_receiver_spool_batches", "Of the batches that wait, those on disk."),
       [](Counts c) { return c.spooled_batches; });
  each(Gauge("stackray_receiver_spool_bytes", "Disk space of batches that wait."),
       [](Counts c) { return c.spooled_bytes; });
  each(Counter("stackray_receiver_spool_write_failures_total",
               "Batches that could not be written to disk and stay in memory."),
       [](Counts c) { return c.spool_write_failures; });
}

// The agent's own traces; absent where they are off.
void AddTraces(const AgentSnapshot& s, Families* out) {
  if (!s.traces) return;
  const TracesSnapshot& traces = *s.traces;
  Family lost =
      Counter("stackray_traces_spans_lost_total", "Spans that were never delivered, by reason.")
          .Row(Number(traces.spans.dropped), {{"reason", "buffer full"}});
  for (size_t i = 0; i < kLossReasons; ++i)
    lost.Row(Number(traces.counts.lost[i].items),
             {{"reason", std::string(LossReasonName(static_cast<LossReason>(i)))}});
  out->push_back(Counter("stackray_traces_spans_total",
                         "Spans of the agent's own work, and those that an earlier agent left on "
                         "disk. Equals delivered + lost + in flight.")
                     .Row(Number(traces.spans.made + traces.counts.recovered.items))
                     .Take());
  out->push_back(Counter("stackray_traces_spans_delivered_total", "Spans that were taken.")
                     .Row(Number(traces.counts.delivered.items))
                     .Take());
  out->push_back(lost.Take());
  out->push_back(Gauge("stackray_traces_spans_in_flight", "Spans that wait.")
                     .Row(Number(traces.spans.waiting + traces.counts.in_flight.items))
                     .Take());
  out->push_back(Gauge("stackray_traces_failing", "1 while the receiver of traces takes none.")
                     .Row(traces.counts.failing_with.empty() ? 0 : 1)
                     .Take());
}

void AddCosts(const AgentSnapshot& s, Families* out) {
  Family programs =
      Counter("stackray_bpf_run_seconds_total",
              "Run time of the BPF programs; 0 unless kernel.bpf_stats_enabled is 1.");
  Family runs = Counter("stackray_bpf_runs_total",
                        "Runs of the BPF programs; 0 unless kernel.bpf_stats_enabled is 1.");
  for (const Sampler::ProgramCost& program : s.session.programs) {
    programs.Row(static_cast<double>(program.run_time_ns) / 1e9, {{"program", program.program}});
    runs.Row(Number(program.runs), {{"program", program.program}});
  }
  out->push_back(programs.Take());
  out->push_back(runs.Take());
  out->push_back(Counter("stackray_cpu_seconds_total", "CPU time of the agent, user and system.")
                     .Row(s.cpu_seconds)
                     .Take());
  Family memory = Gauge("stackray_memory_bytes", "Memory by owner.");
  for (const auto& [owner, bytes] : s.memory)
    memory.Row(Number(bytes), {{"owner", std::string(owner)}});
  out->push_back(memory.Take());
  Family disk = Gauge("stackray_disk_bytes", "Disk space by owner.");
  for (const auto& [owner, bytes] : s.disk)
    disk.Row(Number(bytes), {{"owner", std::string(owner)}});
  out->push_back(disk.Take());
}

// How far the agent is from its budgets, and what it does without.
void AddEnvelope(const AgentSnapshot& s, Families* out) {
  const EnvelopeStatus& e = s.envelope;
  Family budget =
      Gauge("stackray_budget_bytes", "Most memory that the agent may use; absent: no bound.");
  if (e.budgets.resident_bytes != 0)
    budget.Row(Number(e.budgets.resident_bytes), {{"of", "resident"}});
  if (e.budgets.bpf_bytes != 0) budget.Row(Number(e.budgets.bpf_bytes), {{"of", "bpf maps"}});
  out->push_back(budget.Take());
  Family cpu_budget = Gauge("stackray_budget_cpus",
                            "Most CPU time per time that the agent may use; absent: no bound.");
  if (e.budgets.cpus > 0) cpu_budget.Row(e.budgets.cpus);
  out->push_back(cpu_budget.Take());
  out->push_back(Gauge("stackray_used_cpus",
                       "CPU time per time over the last minute, BPF programs included and the "
                       "page's answers left out.")
                     .Row(e.cpus)
                     .Take());
  Family level = Gauge("stackray_given_up_level",
                       "How far something is given up to keep a budget; 0: not at all.");
  for (size_t i = 0; i < kEnvelopeSteps; ++i)
    level.Row(e.levels[i], {{"what", std::string(StepName(static_cast<EnvelopeStep>(i)))}});
  out->push_back(level.Take());
  out->push_back(
      Counter("stackray_given_up_total", "How often something was given up to keep a budget.")
          .Row(Number(e.given_up))
          .Take());
  out->push_back(Gauge("stackray_budget_exhausted",
                       "1 while a budget is short and nothing is left to be given up.")
                     .Row(e.exhausted ? 1 : 0)
                     .Take());
  out->push_back(Gauge("stackray_sampling_frequency_hz", "Samples a second on each CPU, as of now.")
                     .Row(e.limits.frequency_hz)
                     .Take());
}

// Those beside the continuous profile.
void AddCaptures(const AgentSnapshot& s, Families* out) {
  const CapturesStatus& captures = s.captures;
  out->push_back(Gauge("stackray_captures_running", "Captures that sample now.")
                     .Row(Number(captures.running.size()))
                     .Take());
  out->push_back(Counter("stackray_captures_started_total", "Captures that have begun.")
                     .Row(Number(captures.started))
                     .Take());
  out->push_back(Counter("stackray_captures_refused_total", "Captures that could not begin.")
                     .Row(Number(captures.refused))
                     .Take());
  CaptureCounts sum = captures.ended;
  for (const CapturesStatus::One& one : captures.running) sum.Add(one.counts);
  out->push_back(Counter("stackray_capture_samples_total",
                         "Samples of captures that were to be kept, lost ones included.")
                     .Row(Number(sum.produced))
                     .Take());
  out->push_back(Counter("stackray_capture_samples_lost_total",
                         "Samples of captures that are in no file, by reason.")
                     .Row(Number(sum.ring_full), {{"reason", "ring full"}})
                     .Row(Number(sum.scratch_busy), {{"reason", "scratch busy"}})
                     .Row(Number(sum.over_budget), {{"reason", "capture budget"}})
                     .Take());
  Family rate = Gauge("stackray_capture_frequency_hz", "A capture's rate on each CPU, as of now.");
  for (const CapturesStatus::One& one : captures.running)
    rate.Row(one.frequency_hz, {{"capture", one.name}});
  out->push_back(rate.Take());
  out->push_back(Gauge("stackray_capture_file_bytes", "Batches of captures in the state directory.")
                     .Row(Number(captures.file_bytes))
                     .Take());
  out->push_back(Gauge("stackray_capture_flag_problems",
                       "Files of captures-dir that cannot be read or say what cannot be.")
                     .Row(Number(captures.problems.size()))
                     .Take());
}

void AddReports(const AgentSnapshot& s, Families* out) {
  const ReportsStatus& reports = s.reports;
  const auto add = [out](auto make, const char* name, const char* help, auto number) {
    out->push_back(make(name, help).Row(Number(number)).Take());
  };
  add(Counter, "stackray_reports_made_total", "Reports that were completed.", reports.made);
  add(Counter, "stackray_reports_failed_total", "Reports that were begun and given up.",
      reports.failed);
  add(Counter, "stackray_reports_suppressed_total",
      "Triggers and requests that made no report: another one, a limit, no room.",
      reports.suppressed);
  add(Gauge, "stackray_reports_running", "Reports that are being made.",
      uint64_t{reports.running.empty() ? 0u : 1u});
  add(Gauge, "stackray_reports_stored", "Reports in the state directory.", reports.stored);
  add(Gauge, "stackray_report_file_bytes", "Bytes of these reports.", reports.stored_bytes);
  add(Counter, "stackray_report_uploads_total", "Reports that were uploaded.", reports.uploaded);
  add(Counter, "stackray_report_upload_failures_total", "Attempts to upload one that failed.",
      reports.upload_failures);
  add(Counter, "stackray_report_collectors_total", "Runs of collectors.", reports.collectors_run);
  add(Counter, "stackray_report_collector_failures_total",
      "Of these, those that failed or were killed.", reports.collectors_failed);
  add(Counter, "stackray_report_logs_delivered_total",
      "Log records about reports, delivered to receivers.", reports.logs.delivered);
  add(Counter, "stackray_report_logs_lost_total", "Log records about reports that were lost.",
      reports.logs.lost);
}

}  // namespace

std::string MetricsText(const AgentSnapshot& snapshot) {
  Families families;
  AddAgent(snapshot, &families);
  AddSampling(snapshot, &families);
  AddSourceLines(snapshot, &families);
  AddAsyncParents(snapshot, &families);
  AddContexts(snapshot, &families);
  AddTakers(snapshot, &families);
  AddReceivers(snapshot, &families);
  AddTraces(snapshot, &families);
  AddCosts(snapshot, &families);
  AddEnvelope(snapshot, &families);
  AddCaptures(snapshot, &families);
  AddReports(snapshot, &families);
  // A name without a row is no metric.
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace stackray
