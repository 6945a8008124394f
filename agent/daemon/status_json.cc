#include "agent/daemon/status_json.h"

#include <unistd.h>

#include "agent/privileges/capability_set.h"
#include "agent/sampling/markers.h"
#include "agent/sampling/session_settings.h"

namespace stackray {
namespace {

using Json = nlohmann::ordered_json;

Json TakerJson(const TakerCounts& taker) {
  Json lost = Json::object();
  for (const auto& [reason, samples] : taker.lost) lost[reason] = samples;
  return {{"name", taker.name},
          {"due", taker.due},
          {"delivered", taker.delivered},
          {"in_flight", taker.in_flight},
          {"lost_in_all", taker.lost_in_all()},
          {"lost", lost}};
}

void AddReceiver(const ReceiverSnapshot& receiver, Json* taker) {
  const DeliveryCounts& counts = receiver.counts;
  (*taker)["endpoint"] = receiver.endpoint;
  (*taker)["failing_with"] = counts.failing_with.empty() ? Json() : Json(counts.failing_with);
  (*taker)["batches_delivered"] = counts.batches_delivered;
  (*taker)["attempts"] = counts.attempts;
  (*taker)["retries"] = counts.retries;
  (*taker)["splits"] = counts.splits;
  (*taker)["partly_rejected_profiles"] = counts.partly_rejected_units;
  (*taker)["partly_rejected_samples"] = counts.partly_rejected.without_markers();
  (*taker)["recovered"] = counts.recovered.without_markers();
  (*taker)["queue"] = {{"batches", counts.queued_batches}, {"bytes", counts.queued_bytes}};
  (*taker)["spool"] = {
      {"batches", counts.spooled_batches},
      {"bytes", counts.spooled_bytes},
      {"samples", counts.spooled.without_markers()},
      {"failing_with",
       counts.spool_failing_with.empty() ? Json() : Json(counts.spool_failing_with)}};
}

Json Takers(const AgentSnapshot& s) {
  Json takers = Json::array();
  for (const TakerCounts& taker : s.takers) {
    Json json = TakerJson(taker);
    for (const ReceiverSnapshot& receiver : s.receivers)
      if (receiver.name == taker.name) AddReceiver(receiver, &json);
    if (taker.name == kHistoryTaker)
      json["failing_with"] = s.history_failing_with.empty() ? Json() : Json(s.history_failing_with);
    takers.push_back(std::move(json));
  }
  return takers;
}

Json Stacks(const SessionCounts& session) {
  Json stacks = Json::object();
  for (uint32_t end = 1; end < END_REASON_COUNT; ++end)
    if (session.loop.ends[end] != 0) stacks[std::string(EndName(end))] = session.loop.ends[end];
  return stacks;
}

// Ends of user stacks, added up as in record's summary.
Json StackSums(const SessionCounts& session) {
  uint64_t complete = 0, user_stacks = 0, without = 0;
  for (uint32_t end = 1; end < END_REASON_COUNT; ++end) {
    (HasUserStack(end) ? user_stacks : without) += session.loop.ends[end];
    if (IsCompleteEnd(end)) complete += session.loop.ends[end];
  }
  return {{"user_stacks", user_stacks},
          {"complete", complete},
          {"samples_without_user_stack", without}};
}

Json SourceLinesJson(const NativeLines::Counts& lines) {
  return {{"cache", lines.cached}, {"files", lines.answered}, {"deferred", lines.deferred}};
}

Json Bytes(const OwnedBytes& owners) {
  Json bytes = Json::object();
  for (const auto& [owner, count] : owners) bytes[std::string(owner)] = count;
  return bytes;
}

Json Programs(const SessionTotals& session) {
  Json programs = Json::array();
  for (const Sampler::ProgramCost& cost : session.programs)
    programs.push_back(
        {{"program", cost.program}, {"run_ns", cost.run_time_ns}, {"runs", cost.runs}});
  return programs;
}

Json Settings(const AgentSnapshot& s) {
  Json settings = Json::array();
  if (s.settings == nullptr) return settings;
  for (const EffectiveSetting& setting : *s.settings) {
    Json json = {{"key", setting.key}, {"value", setting.value}, {"origin", setting.origin}};
    if (setting.receiver >= 0) json["receiver"] = setting.receiver;
    settings.push_back(std::move(json));
  }
  return settings;
}

Json EnvelopeJson(const EnvelopeStatus& e) {
  Json levels = Json::object();
  for (size_t i = 0; i < kEnvelopeSteps; ++i)
    levels[std::string(StepName(static_cast<EnvelopeStep>(i)))] = e.levels[i];
  return {{"memory_bytes", e.budgets.resident_bytes},
          {"bpf_memory_bytes", e.budgets.bpf_bytes},
          {"cpus", e.budgets.cpus},
          {"used_cpus", e.cpus},
          {"given_up", levels},
          {"given_up_total", e.given_up},
          {"exhausted", e.exhausted},
          {"frequency_hz", e.limits.frequency_hz},
          {"off_cpu_rate", e.limits.off_cpu_rate},
          {"unwind_tables_bytes", e.limits.unwind_table_bytes}};
}

Json CapturesJson(const CapturesStatus& captures) {
  Json running = Json::array();
  for (const CapturesStatus::One& one : captures.running)
    running.push_back({{"name", one.name},
                       {"target", one.target},
                       {"asked_by", one.asked_by},
                       {"frequency_hz", one.frequency_hz},
                       {"asked_frequency_hz", one.asked_hz},
                       {"ends_ms", one.ends_unix_ns / 1'000'000},
                       {"produced", one.counts.produced},
                       {"in_batches", one.counts.sealed},
                       {"in_flight", one.counts.in_flight},
                       {"lost", one.counts.lost()},
                       {"lost_to_budget", one.counts.over_budget}});
  Json problems = Json::array();
  for (const CapturesStatus::Problem& problem : captures.problems)
    problems.push_back({{"file", problem.file}, {"problem", problem.text}});
  return {{"running", running},
          {"started_total", captures.started},
          {"refused_total", captures.refused},
          {"file_bytes", captures.file_bytes},
          {"flag_problems", problems}};
}

Json ReportsJson(const ReportsStatus& reports) {
  return {{"made_total", reports.made},
          {"failed_total", reports.failed},
          {"suppressed_total", reports.suppressed},
          {"missed", reports.missed},
          {"stored", reports.stored},
          {"file_bytes", reports.stored_bytes},
          {"running", reports.running},
          {"last", reports.last},
          {"last_failure", reports.last_failure},
          {"uploaded_total", reports.uploaded},
          {"upload_failures_total", reports.upload_failures},
          {"last_upload_failure", reports.last_upload_failure},
          {"collectors_run_total", reports.collectors_run},
          {"collectors_failed_total", reports.collectors_failed},
          {"log_records",
           {{"delivered_total", reports.logs.delivered},
            {"lost_total", reports.logs.lost},
            {"in_flight", reports.logs.in_flight},
            {"failing_with", reports.logs.failing_with}}}};
}

Json TracesJson(const std::optional<TracesSnapshot>& traces) {
  if (!traces) return {};
  Json lost = {{"buffer full", traces->spans.dropped}};
  for (size_t i = 0; i < kLossReasons; ++i)
    lost[std::string(LossReasonName(static_cast<LossReason>(i)))] = traces->counts.lost[i].items;
  return {{"endpoint", traces->endpoint},
          {"spans", traces->spans.made + traces->counts.recovered.items},
          {"delivered", traces->counts.delivered.items},
          {"in_flight", traces->spans.waiting + traces->counts.in_flight.items},
          {"lost", lost},
          {"failing_with", traces->counts.failing_with}};
}

// Of the thread that answers; every other has the same.
Json PrivilegesJson() {
  const std::optional<TaskPrivileges> own = OwnPrivileges();
  if (!own) return {};
  return {{"capabilities", NamesOf(own->effective)},
          {"bounding", NamesOf(own->bounding)},
          {"no_new_privs", own->no_new_privs},
          {"seccomp", SeccompModeName(own->seccomp_mode)}};
}

Json PortHolderJson(const std::optional<doctor::PortHolder>& holder) {
  if (!holder) return {};
  return {{"port", holder->port},
          {"foreign", holder->foreign()},
          {"user", holder->uid ? Json(holder->user) : Json()},
          {"pid", holder->pid != 0 ? Json(holder->pid) : Json()},
          {"command", holder->pid != 0 ? Json(holder->command) : Json()}};
}

Json UncleanStopJson(const std::optional<UncleanStop>& stop) {
  if (!stop) return {};
  return {{"gap_seconds", stop->gap_seconds ? Json(*stop->gap_seconds) : Json()},
          {"last_sign_ms", stop->last_sign_unix_ms},
          {"samples_in_memory", stop->samples_in_memory}};
}

}  // namespace

Json StatusJson(const AgentSnapshot& s) {
  const SessionCounts& session = s.session.counts;
  return {{"format", "stackray-status/1"},
          {"sequence", s.sequence},
          {"time_ms", s.time_unix_ms},
          {"version", kAgentVersion},
          {"pid", getpid()},
          {"host", s.host},
          {"page_url", s.page_url.empty() ? Json() : Json(s.page_url)},
          {"page_port_held_by", PortHolderJson(s.page_port_holder)},
          {"uptime_seconds", s.uptime_seconds},
          {"unclean_stop_before", UncleanStopJson(s.unclean_stop)},
          {"sampling",
           {{"target", s.target},
            {"frequency_hz", s.frequency_hz},
            {"produced", session.produced},
            {"batches", session.loop.batches},
            {"stacks", Stacks(session)},
            {"stack_sums", StackSums(session)},
            {"source_lines", SourceLinesJson(session.frames.lines)}}},
          {"receivers", Takers(s)},
          {"costs",
           {{"cpu_seconds", s.cpu_seconds},
            {"bpf", Programs(s.session)},
            {"memory_bytes", Bytes(s.memory)},
            {"disk_bytes", Bytes(s.disk)}}},
          {"captures", CapturesJson(s.captures)},
          {"reports", ReportsJson(s.reports)},
          {"traces", TracesJson(s.traces)},
          {"budgets", EnvelopeJson(s.envelope)},
          {"privileges", PrivilegesJson()},
          {"left_alone",
           {{"processes", s.foreign_reads.left_alone.processes},
            {"users", s.foreign_reads.left_alone.owners},
            {"reads_hung", s.foreign_reads.left_alone.hangs},
            {"reads_refused", s.foreign_reads.left_alone.refusals},
            {"readers", s.foreign_reads.readers},
            {"readers_hanging", s.foreign_reads.readers_hanging}}},
          {"log_lines_held_back", s.log_lines_held_back},
          {"settings", Settings(s)}};
}

std::string StatusText(const Json& status) {
  return status.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace stackray
