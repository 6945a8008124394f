// What record and agent share, record's own rows, and the table's look-ups.
#include "agent/settings/setting_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/settings/setting_stores.h"
#include "agent/settings/value_parsers.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/formats/sample_grouping.h"

namespace stackray {
namespace {

using V = SettingValues;

constexpr SettingRow kTargetRows[] = {
    {"pid",
     'p',
     kTargetVerbs,
     ValueKind::kList,
     HelpSection::kTarget,
     "PID[,PID…]",
     "these processes with all their descendants",
     "",
     "process numbers like 12 or 12,34",
     [](V& v, Texts t) {
       return StoreParsed(ParsePids(fmt::format("{}", fmt::join(t, ","))), v.target.pids);
     },
     {},
     true},
    {"inherit", 0, kTargetVerbs, ValueKind::kSwitch, HelpSection::kTarget, "",
     "with -p: also the processes that these have started or will start", "true", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.target.inherit); }},
    {"cgroup",
     0,
     kTargetVerbs,
     ValueKind::kText,
     HelpSection::kTarget,
     "PATH",
     "a control group (v1 or v2) with its children",
     "",
     "a cgroup's path",
     [](V& v, Texts t) { return StoreText(t[0], v.target.cgroup_path); },
     {},
     true},
    {"container",
     0,
     kTargetVerbs,
     ValueKind::kText,
     HelpSection::kTarget,
     "ID",
     "a container, by at least 12 digits of its id",
     "",
     "12 to 64 hexadecimal digits",
     &StoreContainer,
     {},
     true},
    {"command",
     0,
     kTargetVerbs,
     ValueKind::kText,
     HelpSection::kTarget,
     "NAME",
     "every process of this command name",
     "",
     "a command name of 1 to 15 bytes (the kernel keeps no more of longer names)",
     [](V& v, Texts t) { return t[0].size() <= 15 && StoreText(t[0], v.target.command_name); },
     {},
     true},
    {"all",
     'a',
     kTargetVerbs,
     ValueKind::kSwitch,
     HelpSection::kTarget,
     "",
     "the whole host; record and agent look at it without a target too",
     "",
     kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.whole_host); },
     {},
     true},
    {"user",
     0,
     kCaptureVerb | kReportVerb,
     ValueKind::kText,
     HelpSection::kTarget,
     "NAME|UID",
     "every process of this user",
     "",
     "the name of a user in /etc/passwd, or a user's number",
     &StoreUser,
     {},
     true},
    {"service",
     0,
     kCaptureVerb | kReportVerb,
     ValueKind::kText,
     HelpSection::kTarget,
     "NAME",
     "every process of this service, by its service.name in the profile",
     "",
     "a name of at most 255 bytes",
     [](V& v, Texts t) { return t[0].size() <= 255 && StoreText(t[0], v.target.service_name); },
     {},
     true},
    {"label",
     0,
     kCaptureVerb | kFileVerbs,
     ValueKind::kText,
     HelpSection::kTarget,
     "KEY=VALUE",
     "every thread while it works on something that has this label; of a file the samples that "
     "have it, repeatable: all of them",
     "",
     "a label's name of at most 64 bytes and its value of at most 255, with = between them",
     &StoreLabelTarget,
     {},
     true},
    {"trace", 0, kFileVerbs, ValueKind::kText, HelpSection::kTarget, "ID",
     "the samples of this trace", "", "a trace id of 32 hexadecimal digits that are not all 0",
     [](V& v, Texts t) { return (v.trace = TraceCondition(t[0])).has_value(); }},
    {"span", 0, kFileVerbs, ValueKind::kText, HelpSection::kTarget, "ID",
     "the samples of this span", "", "a span id of 16 hexadecimal digits that are not all 0",
     [](V& v, Texts t) { return (v.span = SpanCondition(t[0])).has_value(); }},
    {"as-root", 0, kRecordVerb, ValueKind::kSwitch, HelpSection::kTarget, "",
     "run CMD as root instead of as the user who called sudo", "false", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.target.as_root); }},
};

constexpr SettingRow kSamplingRows[] = {
    {.key = "type",
     .verbs = kSamplingVerbs | kCaptureVerb | kConvertVerb,
     .kind = ValueKind::kList,
     .section = HelpSection::kSampling,
     .placeholder = "TYPE[,…]",
     .help = "cpu (time on a CPU), off-cpu (time spent waiting), page-faults; .folded and "
             ".speedscope.json hold the first one; convert takes one, of another writer too",
     .default_text = "cpu",
     .allowed = "different ones of cpu, off-cpu and page-faults with commas between them",
     .apply = &StoreTypes,
     .plural = "types"},
    {"off-cpu-rate", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "NUMBER",
     "most stacks of waits a second on each CPU, with --type off-cpu", "200",
     "a whole number from 1 to 100000", &StoreOffCpuRate},
    {"frequency", 'F', kSamplingVerbs | kCaptureVerb, ValueKind::kText, HelpSection::kSampling,
     "HZ", "samples a second on each CPU", "20; record: 99; capture: 499",
     "a whole number from 1 to 10000", &StoreFrequency},
    {"timestamps", 0, kSamplingVerbs, ValueKind::kSwitch, HelpSection::kSampling, "",
     "keep every sample's time instead of adding equal samples up", "false; record: true",
     kSwitchWords, [](V& v, Texts t) { return StoreSwitch(t, v.timestamps.emplace()); }},
    {"thread-attributes", 0, kSamplingVerbs, ValueKind::kSwitch, HelpSection::kSampling, "",
     "keep thread ids and names", "true", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.sampling.thread_attributes); }},
    {"cpu-attribute", 0, kSamplingVerbs, ValueKind::kSwitch, HelpSection::kSampling, "",
     "keep the CPU's number (adds 30-170 % to the samples' size)", "false", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.sampling.cpu_attribute); }},
    {"attributes", 0, kSamplingVerbs, ValueKind::kList, HelpSection::kSampling, "WHICH",
     "what tells processes and threads apart: full, standard (no thread ids, creation times, "
     "cgroups), "
     "low (no pids and thread names either), or the keys to keep",
     "standard with a receiver, else full; record: full",
     "full, standard, low, or keys of docs/receivers.md with commas between them",
     &StoreAttributes},
    {"context", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "WHAT",
     "what threads work on, as their tracing library says: off, links (trace and span ids) or "
     "labels (and those of --context-labels)",
     "links, with --context-labels labels", "off, links or labels",
     [](V& v, Texts t) {
       return StoreOneOf(t[0], {"off", "links", "labels"}, v.context.emplace());
     }},
    {"context-labels", 0, kSamplingVerbs, ValueKind::kList, HelpSection::kSampling, "NAME[,…]",
     "labels to keep on samples; * keeps all", "none",
     "names of labels with commas between them, or *", &StoreContextLabels},
    {"interpreter-loops", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "HOW",
     "native frames that run an interpreter's frames: hidden, folded (a second line of the "
     "innermost "
     "of these) or kept",
     "hidden", "hidden, folded or kept",
     [](V& v, Texts t) {
       return StoreOneOf(t[0], {"hidden", "folded", "kept"}, v.sampling.interpreter_loops);
     }},
    {"async-parents", 0, kSamplingVerbs, ValueKind::kSwitch, HelpSection::kSampling, "",
     "below an async function of JavaScript that was resumed, those that await it (async f)",
     "false", kSwitchWords, [](V& v, Texts t) { return StoreSwitch(t, v.sampling.async_parents); }},
    {"seal-interval", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "TIME",
     "how long a batch collects, with a receiver give or take a tenth",
     "15s with a receiver, else 2s; record: 1s", "a time from 100ms to 10m, like 15s",
     [](V& v, Texts t) { return StoreDuration(t, 100, 600'000, v.seal_interval_ms.emplace()); }},
    {"raw-slices", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "SIZE",
     "memory for stack slices whose unwind tables are not loaded yet; 0: none", "4MiB", kSizeWords,
     [](V& v, Texts t) { return StoreSize(t, 0, v.sampling.raw_slices_bytes); }},
    {"unwind-tables", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "SIZE",
     "memory for unwind tables", "16MiB", "a size of 1MiB or more, like 16MiB",
     [](V& v, Texts t) { return StoreSize(t, kMiB, v.sampling.unwind_tables_bytes); }},
    {"symbols", 0, kLookingVerbs, ValueKind::kText, HelpSection::kSampling, "WHAT",
     "names of native code: off, symtab (symbol tables) or full (inlined functions, lines)", "full",
     "off, symtab or full", &StoreSymbols},
    {"name-unnamed", 0, kSamplingVerbs, ValueKind::kSwitch, HelpSection::kSampling, "",
     "name frames without a name by file and function start, for receivers that show no others",
     "false", kSwitchWords, [](V& v, Texts t) { return StoreSwitch(t, v.sampling.name_unnamed); }},
    {"debuginfod", 0, kLookingVerbs, ValueKind::kText, HelpSection::kSampling, "WHOM",
     "servers asked for debug files by build id: off, on (those of DEBUGINFOD_URLS) or URLs", "off",
     "off, on, or http and https URLs with spaces between them", &StoreDebuginfod},
    {"debuginfod-cache", 0, kLookingVerbs, ValueKind::kText, HelpSection::kSampling, "SIZE",
     "room on disk for downloaded debug files", "512MiB", "a size of 1MiB or more, like 512MiB",
     [](V& v, Texts t) { return StoreSize(t, kMiB, v.sampling.debuginfod_cache_bytes); }},
    {"resource-attributes", 0, kSamplingVerbs, ValueKind::kList, HelpSection::kSampling,
     "KEY=VALUE[,…]", "attributes of this host for every resource that does not say otherwise",
     "none",
     "KEY=VALUE pairs with commas between them, other commas percent-encoded as %2C, at most 64",
     &StoreResourceAttributes, "OTEL_RESOURCE_ATTRIBUTES"},
    {"service-name", 0, kSamplingVerbs, ValueKind::kText, HelpSection::kSampling, "NAME",
     "service.name of processes that name no service themselves", "none",
     "a name of at most 255 bytes",
     [](V& v, Texts t) { return t[0].size() <= 255 && StoreText(t[0], v.service_name); },
     "OTEL_SERVICE_NAME"},
    {"service-name-from", 0, kSamplingVerbs, ValueKind::kList, HelpSection::kSampling, "SOURCE[,…]",
     "where a process's service.name comes from, the strongest first",
     "context,environment,kubernetes,systemd,container,java,command",
     "different ones of context, environment, kubernetes, systemd, container, java and command",
     &StoreServiceNameFrom},
};

constexpr SettingRow kRecordingRows[] = {
    {"duration", 'd', kRecordVerb | kExplainVerb | kCaptureVerb, ValueKind::kText,
     HelpSection::kRecording, "SECONDS", "how long to sample; also 2m, 1h",
     "5; record: until Ctrl-C or the end of CMD; capture: 60",
     "a time from 1ms to 7d; a bare number is seconds",
     [](V& v, Texts t) {
       return StoreDuration(t, 1, 7 * 86'400'000LL, v.record.duration_ms.emplace());
     }},
    {"output", 'o', kRecordVerb | kConvertVerb | kCaptureVerb, ValueKind::kList,
     HelpSection::kRecording, "FILE",
     "where to write, repeatable; the format is the ending's (see below)",
     "; record: stackray-<time>.html; capture: stackray-<time>.html",
     "different files ending in .html .pb.gz .folded .otlp .json or .speedscope.json, or - "
     "(folded)",
     &StoreOutputs},
    {"group-by", 0, kRecordVerb | kConvertVerb, ValueKind::kText, HelpSection::kRecording, "WHAT",
     "a frame of their group outside of all stacks: trace, span, thread, service, container, user "
     "or label:KEY; not in .otlp and .json",
     "none", "trace, span, thread, service, container, user or label:KEY",
     [](V& v, Texts t) {
       return SampleGrouping::Parse(t[0]).has_value() && StoreText(t[0], v.group_by);
     }},
    {"json", 0, kDumpVerb, ValueKind::kSwitch, HelpSection::kRecording, "",
     "one JSON document in the place of text", "false", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.json); }},
    {"send", 0, kCaptureVerb, ValueKind::kSwitch, HelpSection::kRecording, "",
     "also send the capture to the agent's receivers", "false", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.send_capture); }},
    {"trigger-name", 0, kReportVerb, ValueKind::kText, HelpSection::kRecording, "NAME",
     "what the report is called for", "request",
     "1 to 64 letters, digits, '.', '_' or '-', not beginning with '.' or '-'",
     [](V& v, Texts t) { return IsCaptureName(t[0]) && StoreText(t[0], v.report_trigger); }},
    {"report-output", 0, kReportVerb, ValueKind::kText, HelpSection::kRecording, "FILE",
     "where get writes the report", "its own name, in this directory", "the path of a file",
     [](V& v, Texts t) { return StoreText(t[0], v.report_output); }},
    {"wait", 0, kCaptureVerb | kReportVerb, ValueKind::kSwitch, HelpSection::kRecording, "",
     "stay until the capture or the report is complete", "true", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.wait_for_capture); }},
};

std::vector<SettingRow> Gather() {
  std::vector<SettingRow> rows;
  for (const auto part : {TargetRows(), SamplingRows(), RecordingRows(), ReceiverRows(),
                          TracesRows(), LocalRows(), CaptureRows(), LogRows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

std::span<const SettingRow> TargetRows() { return kTargetRows; }
std::span<const SettingRow> SamplingRows() { return kSamplingRows; }
std::span<const SettingRow> RecordingRows() { return kRecordingRows; }

std::span<const SettingRow> SettingTable() {
  static const std::vector<SettingRow>* const rows = new std::vector<SettingRow>(Gather());
  return *rows;
}

const SettingRow* FindSetting(std::string_view key) {
  const std::span<const SettingRow> rows = SettingTable();
  const auto row = std::ranges::find(rows, key, &SettingRow::key);
  return row == rows.end() ? nullptr : &*row;
}

const SettingRow* FindSettingInFile(std::string_view key) {
  const std::span<const SettingRow> rows = SettingTable();
  const auto row = std::ranges::find_if(rows, [key](const SettingRow& candidate) {
    return candidate.key == key || (!candidate.plural.empty() && candidate.plural == key);
  });
  return row == rows.end() ? nullptr : &*row;
}

std::string VariableName(const SettingRow& row) {
  std::string name = fmt::format("STACKRAY_{}", absl::AsciiStrToUpper(std::string(row.key)));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> OtelVariables(const SettingRow& row) {
  constexpr std::string_view kExporter = "OTEL_EXPORTER_OTLP_";
  std::vector<std::string> names;
  if (row.traces_field != nullptr)
    return {fmt::format("{}TRACES_{}", kExporter, row.otel_variable.substr(kExporter.size())),
            std::string(row.otel_variable)};
  if (row.otel_variable.starts_with(kExporter))
    names.push_back(
        fmt::format("{}PROFILES_{}", kExporter, row.otel_variable.substr(kExporter.size())));
  if (!row.otel_variable.empty()) names.emplace_back(row.otel_variable);
  return names;
}

// "A; record: B; capture: C": the first part holds for the verbs that are not named.
std::string_view DefaultFor(Verb verb, std::string_view default_text) {
  constexpr std::pair<Verb, std::string_view> kNamed[] = {{kRecordVerb, "; record: "},
                                                          {kCaptureVerb, "; capture: "}};
  size_t first_end = default_text.size();
  std::string_view own;
  for (const auto& [named, mark] : kNamed) {
    const size_t at = default_text.find(mark);
    if (at == std::string_view::npos) continue;
    first_end = std::min(first_end, at);
    if (named != verb) continue;
    own = default_text.substr(at + mark.size());
    for (const auto& [other, next] : kNamed) own = own.substr(0, own.find(next));
  }
  return own.data() != nullptr ? own : default_text.substr(0, first_end);
}

}  // namespace stackray
