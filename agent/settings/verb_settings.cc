#include "agent/settings/verb_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/settings/attribute_choice.h"
#include "agent/settings/caller.h"
#include "agent/settings/capture_settings.h"
#include "agent/settings/given_target.h"
#include "agent/settings/help_text.h"
#include "agent/settings/value_parsers.h"
#include "reporter/formats/sample_grouping.h"

namespace stackray {
namespace {

bool OnCommandLine(const ParsedFlags& flags, std::string_view key) {
  return std::ranges::any_of(flags.settings,
                             [&](const GivenSetting& given) { return given.row->key == key; });
}

absl::StatusOr<TargetSettings> BuildTarget(SettingValues& values, const ParsedFlags& flags) {
  values.target.program = flags.program;
  TargetSettings target = TargetOf(values);
  if (target.kind != TargetKind::kPids && OnCommandLine(flags, "inherit"))
    return absl::InvalidArgumentError("--inherit and --no-inherit go with -p only");
  if (target.kind != TargetKind::kProgram && OnCommandLine(flags, "as-root"))
    return absl::InvalidArgumentError("--as-root goes with -- CMD only");
  return target;
}

// A service's name of its own beats one among the attributes (OpenTelemetry specification 1.44).
ResourceAttributes AttributesOf(const SettingValues& values) {
  ResourceAttributes attributes = values.resource_attributes;
  if (values.service_name.empty()) return attributes;
  constexpr std::string_view kKey = "service.name";
  std::erase_if(attributes, [&](const auto& attribute) { return attribute.first == kKey; });
  attributes.emplace_back(kKey, values.service_name);
  return attributes;
}

// A name that the user gives to all processes is better than a guess by what their programs are
// called.
std::vector<std::string> ServiceNameFrom(const SettingValues& values,
                                         const ResourceAttributes& attributes) {
  std::vector<std::string> words =
      values.service_name_from.value_or(SamplingSettings().service_name_from);
  const bool is_named = std::ranges::any_of(
      attributes, [](const auto& attribute) { return attribute.first == "service.name"; });
  if (is_named && !values.service_name_from)
    std::erase_if(words, [](const auto& word) { return word == "java" || word == "command"; });
  return words;
}

// Nothing is asked of anybody but by this setting: DEBUGINFOD_URLS alone, which other tools need,
// does not do it.
void ChooseDebuginfod(const Environment& environment, const std::string& directory,
                      SamplingSettings& sampling, std::vector<std::string>& warnings) {
  if (sampling.debuginfod == "off") return;
  sampling.debuginfod_directory = directory;
  sampling.debuginfod_urls =
      HttpUrls(sampling.debuginfod == "on" ? VariableOf(environment, "DEBUGINFOD_URLS")
                                           : sampling.debuginfod);
  if (sampling.debuginfod_urls.empty())
    warnings.push_back("debuginfod is on, but DEBUGINFOD_URLS names no http or https server");
  if (sampling.symbols != SymbolPolicy::kFull)
    warnings.push_back("debuginfod is asked with --symbols full only");
}

// Of verbs without a state directory: this user's own.
std::string TemporaryDebuginfodDirectory() {
  return fmt::format("/var/tmp/stackray-debuginfod-{}", geteuid());
}

// Who names labels wants them.
std::string ContextOf(const SettingValues& values) {
  return values.context.value_or(values.sampling.context_labels.empty() ? "links" : "labels");
}

SampleFilter FilterOf(const SettingValues& values) {
  std::vector<SampleCondition> conditions = values.labels;
  for (const std::optional<SampleCondition>& id : {values.trace, values.span})
    if (id) conditions.push_back(*id);
  return SampleFilter(std::move(conditions));
}

// Who groups by a label wants it on the samples.
absl::Status AddGroupedLabel(const SettingValues& values, SamplingSettings& sampling) {
  const std::optional<SampleGrouping> grouping = SampleGrouping::Parse(values.group_by);
  if (!grouping || grouping->label().empty()) return absl::OkStatus();
  if (values.context && *values.context != "labels")
    return absl::InvalidArgumentError(fmt::format("--group-by {} needs labels, and context is {}",
                                                  values.group_by, *values.context));
  sampling.context = "labels";
  std::vector<std::string>& names = sampling.context_labels;
  if (std::ranges::find(names, "*") == names.end() &&
      std::ranges::find(names, grouping->label()) == names.end())
    names.emplace_back(grouping->label());
  return absl::OkStatus();
}

absl::Status BuildRecord(SettingValues& values, const ParsedFlags& flags,
                         const Environment& environment, CommandLine& line) {
  absl::StatusOr<TargetSettings> target = BuildTarget(values, flags);
  if (!target.ok()) return target.status();
  RecordSettings record = std::move(values.record);
  record.target = *std::move(target);
  record.sampling = values.sampling;
  record.sampling.types = values.types.value_or(SamplingSettings().types);
  record.sampling.frequency_hz = values.frequency_hz.value_or(99);
  record.sampling.timestamps = values.timestamps.value_or(true);
  record.sampling.lines_deadline_ms = 2000;
  record.sampling.seal_interval_ms = values.seal_interval_ms.value_or(1000);
  record.sudo_user = FindSudoUser(environment);
  record.sandbox = values.sandbox;
  record.sampling.resource_attributes = AttributesOf(values);
  record.sampling.left_out_attributes =
      values.left_out_attributes.value_or(std::vector<std::string>());
  record.sampling.service_name_from = ServiceNameFrom(values, record.sampling.resource_attributes);
  record.sampling.context = ContextOf(values);
  if (absl::Status status = AddGroupedLabel(values, record.sampling); !status.ok()) return status;
  record.group_by = values.group_by;
  ChooseDebuginfod(environment, TemporaryDebuginfodDirectory(), record.sampling, line.warnings);
  line.verb = std::move(record);
  return absl::OkStatus();
}

// Traces go with the profiles unless they have an address of their own, and then none of the other
// settings of an address counts. OTEL_SDK_DISABLED is about what a program tells of itself
// (OpenTelemetry specification 1.44): here these traces alone, for the profiles are what the agent
// is there for.
void ChooseTraces(const Environment& environment, AgentSettings& agent,
                  std::vector<std::string>& warnings) {
  TracesSettings& traces = agent.traces;
  const std::string disabled = absl::AsciiStrToLower(VariableOf(environment, "OTEL_SDK_DISABLED"));
  if (!disabled.empty() && disabled != "true" && disabled != "false")
    warnings.push_back("OTEL_SDK_DISABLED is neither true nor false, and counts as false");
  if (traces.exporter != "otlp") return;
  if (disabled == "true") {
    warnings.push_back("no traces are sent: OTEL_SDK_DISABLED is true");
    traces.exporter = "none";
  }
  if (!traces.receiver.endpoint.empty() || agent.receivers.empty()) return;
  for (const auto& [key, origin] : traces.receiver.origins) {
    if (origin.starts_with("OTEL_EXPORTER_OTLP_") &&
        !origin.starts_with("OTEL_EXPORTER_OTLP_TRACES_"))
      continue;
    warnings.push_back(
        fmt::format("{} is not used: traces go to the receiver {} with its settings; name another "
                    "with traces-endpoint",
                    origin, agent.receivers[0].name));
  }
}

absl::Status BuildAgent(SettingValues& values, const ParsedFlags& flags,
                        const Environment& environment, CommandLine& line) {
  if (!flags.program.empty())
    return absl::InvalidArgumentError("agent runs no command; stackray record -- CMD does");
  absl::StatusOr<TargetSettings> target = BuildTarget(values, flags);
  if (!target.ok()) return target.status();
  AgentSettings agent = std::move(values.agent);
  agent.target = *std::move(target);
  const bool has_receiver = !agent.receivers.empty();
  agent.sampling = values.sampling;
  agent.sampling.types = values.types.value_or(SamplingSettings().types);
  agent.sampling.frequency_hz = values.frequency_hz.value_or(20);
  agent.sampling.timestamps = values.timestamps.value_or(false);
  agent.sampling.seal_interval_ms = values.seal_interval_ms.value_or(has_receiver ? 15000 : 2000);
  agent.sampling.resource_attributes = AttributesOf(values);
  agent.sampling.left_out_attributes = values.left_out_attributes.value_or(
      has_receiver ? StandardLeftOut() : std::vector<std::string>());
  agent.sampling.service_name_from = ServiceNameFrom(values, agent.sampling.resource_attributes);
  agent.sampling.context = ContextOf(values);
  agent.page = values.page.value_or(!has_receiver);
  if (agent.page_access == PageReaders::kOpen && !IsLoopback(agent.listen))
    return absl::InvalidArgumentError(
        fmt::format("listen on {} with page-access open would show what this host does to "
                    "everybody who reaches "
                    "that port; choose page-access token, or metrics-listen for the numbers alone",
                    agent.listen.host));
  if (agent.bpf_memory_budget_bytes != 0 &&
      agent.sampling.unwind_tables_bytes > agent.bpf_memory_budget_bytes)
    line.warnings.push_back(
        "unwind-tables is more than bpf-memory-budget allows for all BPF maps together: the agent "
        "will have fewer");
  ChooseTraces(environment, agent, line.warnings);
  agent.log = line.log;
  agent.sandbox = values.sandbox;
  agent.check_config = flags.check_config;
  agent.show_status = flags.status;
  for (EffectiveSetting& setting : line.effective) {
    if (setting.key == "state-dir" && setting.origin == "default") {
      agent.state_dir = setting.value = DefaultStateDirectory(environment);
    }
  }
  ChooseDebuginfod(environment, agent.state_dir + "/debuginfod", agent.sampling, line.warnings);
  agent.effective = line.effective;
  line.verb = std::move(agent);
  return absl::OkStatus();
}

// OUT behind IN, and each -o.
absl::Status BuildConvert(SettingValues& values, const ParsedFlags& flags, CommandLine& line) {
  ConvertSettings convert{
      .input_path = flags.files[0], .filter = FilterOf(values), .group_by = values.group_by};
  if (flags.files.size() > 1) {
    const std::string& output = flags.files[1];
    const std::optional<OutputFormat> format = OutputFormatOf(output);
    if (!format)
      return absl::InvalidArgumentError(
          fmt::format("cannot tell the format of {}: {}; expected an ending of {}, or - (folded)",
                      output, WhyNoOutput(output), OutputEndings()));
    convert.outputs.push_back({output, *format});
  }
  // OUT replaces what a file or a variable says; a flag stands beside it.
  if (convert.outputs.empty() || OnCommandLine(flags, "output"))
    std::ranges::move(values.record.outputs, std::back_inserter(convert.outputs));
  // A variable or a file may list what an agent samples, which says nothing of this input.
  if (values.types && values.types->size() > 1 && OnCommandLine(flags, "type"))
    return absl::InvalidArgumentError("convert takes one --type (see stackray convert --help)");
  convert.type = std::move(values.foreign_type);
  if (values.types && values.types->size() == 1)
    convert.type = std::string(TypeOf(values.types->front()).name);
  if (convert.outputs.empty())
    return absl::InvalidArgumentError("convert needs OUT, or -o OUT (see stackray convert --help)");
  for (size_t i = 0; i < convert.outputs.size(); ++i) {
    const std::string& path = convert.outputs[i].path;
    if (path == convert.input_path && path != "-")
      return absl::InvalidArgumentError(fmt::format("{} is both input and output", path));
    for (size_t j = 0; j < i; ++j)
      if (convert.outputs[j].path == path)
        return absl::InvalidArgumentError(fmt::format("{} is given twice as output", path));
  }
  line.verb = std::move(convert);
  return absl::OkStatus();
}

absl::Status BuildExplain(const SettingValues& values, const ParsedFlags& flags,
                          const Environment& environment, CommandLine& line) {
  const std::optional<std::vector<uint32_t>> pids = ParsePids(flags.files[0]);
  if (!pids || pids->size() != 1)
    return absl::InvalidArgumentError(
        fmt::format("{} is no process; expected its number, like 1234", flags.files[0]));
  ExplainSettings explain{.pid = pids->front(), .sampling = values.sampling};
  explain.sampling.frequency_hz = 199;
  explain.sampling.lines_deadline_ms = 2000;
  ChooseDebuginfod(environment, TemporaryDebuginfodDirectory(), explain.sampling, line.warnings);
  explain.sandbox = values.sandbox;
  explain.duration_ms = values.record.duration_ms.value_or(explain.duration_ms);
  line.verb = std::move(explain);
  return absl::OkStatus();
}

absl::Status BuildDump(const SettingValues& values, const ParsedFlags& flags,
                       const Environment& environment, CommandLine& line) {
  const std::optional<std::vector<uint32_t>> pids = ParsePids(flags.files[0]);
  if (!pids || pids->size() != 1)
    return absl::InvalidArgumentError(
        fmt::format("{} is no process; expected its number, like 1234", flags.files[0]));
  DumpSettings dump{.pid = pids->front(), .json = values.json, .sampling = values.sampling};
  dump.sampling.lines_deadline_ms = 2000;
  ChooseDebuginfod(environment, TemporaryDebuginfodDirectory(), dump.sampling, line.warnings);
  dump.sandbox = values.sandbox;
  line.verb = std::move(dump);
  return absl::OkStatus();
}

struct ReportWord {
  std::string_view word;
  ReportAction action;
  size_t names;
};
constexpr ReportWord kReportWords[] = {{"list", ReportAction::kList, 0},
                                       {"get", ReportAction::kGet, 1},
                                       {"delete", ReportAction::kDelete, 1}};

absl::Status BuildReport(const SettingValues& values, const ParsedFlags& flags,
                         const Environment& environment, CommandLine& line) {
  ReportVerbSettings report{.trigger = values.report_trigger,
                            .output = values.report_output,
                            .wait = values.wait_for_capture,
                            .state_dir = values.agent.state_dir};
  const std::string word = flags.files.empty() ? "" : flags.files[0];
  const auto row = std::ranges::find(kReportWords, word, &ReportWord::word);
  const bool is_start = row == std::end(kReportWords);
  const size_t most = is_start ? 1 : row->names + 1;
  if (flags.files.size() > most)
    return absl::InvalidArgumentError(
        fmt::format("report: unexpected argument {}", flags.files[most]));
  if (!is_start) {
    report.action = row->action;
    if (flags.files.size() < most)
      return absl::InvalidArgumentError(fmt::format("report {} needs the NAME of a report", word));
    if (row->names == 1) report.name = flags.files[1];
  } else if (!word.empty()) {
    const std::optional<std::vector<uint32_t>> pids = ParsePids(word);
    if (!pids || pids->size() != 1)
      return absl::InvalidArgumentError(
          fmt::format("{} is no process; expected its number, or list, get or delete", word));
    report.pid = pids->front();
  }
  report.target = TargetOf(values);
  const bool has_target = report.target.kind != TargetKind::kWholeHost;
  if (has_target && (!is_start || report.pid != 0))
    return absl::InvalidArgumentError(
        is_start ? "report: PID and a flag name two targets; give only one of them"
                 : fmt::format("report {} has no target", word));
  for (EffectiveSetting& setting : line.effective)
    if (setting.key == "state-dir" && setting.origin == "default")
      report.state_dir = setting.value = DefaultStateDirectory(environment);
  report.sudo_user = FindSudoUser(environment);
  line.verb = std::move(report);
  return absl::OkStatus();
}

// What stands behind a verb and its flags.
struct Files {
  size_t least = 0, most = 0;
  std::string_view what;  // For messages.
};

Files FilesOf(Verb verb) {
  switch (verb) {
    case kCheckVerb: return {1, 1, "FILE"};
    case kViewVerb: return {1, 1, "FILE"};
    case kExplainVerb:
    case kDumpVerb: return {1, 1, "PID"};
    case kConvertVerb: return {1, 2, "IN and OUT"};
    case kCaptureVerb:
    case kReportVerb: return {0, 2, "NAME"};
    default: return {};
  }
}

absl::Status CheckFileCount(Verb verb, const ParsedFlags& flags) {
  const Files wanted = FilesOf(verb);
  if (flags.files.size() > wanted.most)
    return absl::InvalidArgumentError(
        fmt::format("{}: unexpected argument {}{}", NameOf(verb), flags.files[wanted.most],
                    verb == kRecordVerb ? "; a command to run comes after \"--\"" : ""));
  if (flags.files.size() < wanted.least)
    return absl::InvalidArgumentError(fmt::format("{} needs {} (see stackray {} --help)",
                                                  NameOf(verb), wanted.what, NameOf(verb)));
  if (!flags.program.empty() && !(verb & kSamplingVerbs))
    return absl::InvalidArgumentError(
        fmt::format("{} runs no command; stackray record -- CMD does", NameOf(verb)));
  return absl::OkStatus();
}

}  // namespace

absl::Status BuildVerb(Verb verb, SettingValues values, const ParsedFlags& flags,
                       const Environment& environment, CommandLine& line) {
  if (absl::Status status = CheckFileCount(verb, flags); !status.ok()) return status;
  switch (verb) {
    case kRecordVerb: return BuildRecord(values, flags, environment, line);
    case kAgentVerb: return BuildAgent(values, flags, environment, line);
    case kConvertVerb: return BuildConvert(values, flags, line);
    case kExplainVerb: return BuildExplain(values, flags, environment, line);
    case kCaptureVerb: return BuildCapture(values, flags, environment, line);
    case kReportVerb: return BuildReport(values, flags, environment, line);
    case kDumpVerb: return BuildDump(values, flags, environment, line);
    case kViewVerb: line.verb = ViewSettings{flags.files[0], FilterOf(values)}; break;
    case kCheckVerb: line.verb = CheckSettings{flags.files[0], FilterOf(values)}; break;
    case kDoctorVerb: line.verb = DoctorSettings{flags.config_path.value_or("")}; break;
  }
  return absl::OkStatus();
}

Environment ReadEnvironment(const char* const* variables) {
  Environment environment;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view text = *variables;
    if (const size_t equals = text.find('='); equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

OutputFile DefaultOutput(std::time_t now) {
  std::tm local{};
  localtime_r(&now, &local);
  return {fmt::format("stackray-{:04}{:02}{:02}-{:02}{:02}{:02}.html", local.tm_year + 1900,
                      local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec),
          OutputFormat::kHtml};
}

std::string DescribeSettings(const std::vector<EffectiveSetting>& settings) {
  std::string text;
  int receiver = -1;
  for (const EffectiveSetting& setting : settings) {
    if (setting.value.empty()) continue;  // A target that nobody named.
    if (setting.receiver >= 0 && receiver < 0) text += "receivers:\n";
    const char* indent = setting.receiver < 0 ? "" : setting.receiver != receiver ? "  - " : "    ";
    receiver = setting.receiver;
    text += fmt::format("{}{}: {}  # {}\n", indent, setting.key, setting.value, setting.origin);
  }
  return text;
}

}  // namespace stackray
