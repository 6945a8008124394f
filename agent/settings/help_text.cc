#include "agent/settings/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stackray {
namespace {

constexpr VerbName kVerbs[] = {
    {"record", kRecordVerb, "[-- CMD ARG…]", "profile for a while and write a file"},
    {"agent", kAgentVerb, "", "run as a daemon: keep a local history, or send to a receiver"},
    {"check", kCheckVerb, "FILE", "say whether every batch of an .otlp file is valid and complete"},
    {"convert", kConvertVerb, "IN [OUT]", "turn an .otlp file into another format"},
    {"view", kViewVerb, "FILE", "show a profile or a report on a page of its own, on this host"},
    {"capture", kCaptureVerb, "[NAME] | list | stop NAME | get NAME",
     "have the running agent look closer at some processes for a while"},
    {"report", kReportVerb, "[PID | TARGET] | list | get NAME | delete NAME",
     "have the running agent put a report of this host together"},
    {"dump", kDumpVerb, "PID", "print the stacks of all threads of a process, once"},
    {"explain", kExplainVerb, "PID", "say how a process is unwound and named, and what would help"},
    {"doctor", kDoctorVerb, "", "say what this host allows, what is missing and how to fix it"},
};

constexpr std::pair<HelpSection, std::string_view> kSections[] = {
    {HelpSection::kTarget, "What to look at (one of them; without any: the whole host)"},
    {HelpSection::kSampling, "Sampling"},
    {HelpSection::kRecording, "Recording"},
    {HelpSection::kReceiver, "Receiver (OTEL_EXPORTER_OTLP_… variables are read as well)"},
    {HelpSection::kTraces, "The agent's own traces (docs/tracing.md; OTEL_… variables as well)"},
    {HelpSection::kLocal, "On this host"},
    {HelpSection::kCaptures, "Captures (docs/capture.md)"},
    {HelpSection::kLog, "Log and configuration"},
};

constexpr std::string_view kCaptureTargets = "What to look at (any of several; one at least)";

constexpr std::string_view kFileSamples = "Which samples (those with all that is named)";

constexpr std::string_view kFormats =
    "\nFormats by ending: .html one interactive page  .pb.gz pprof  .folded stacks as text\n"
    "  .otlp OTLP batches  .json OTLP as JSON  .speedscope.json  and -o - for folded to stdout\n";

constexpr std::string_view kLayers =
    "\nEach --KEY VALUE is also the variable STACKRAY_KEY and the line \"KEY: VALUE\" of the YAML "
    "file\n"
    "that --config or STACKRAY_CONFIG names. The command line beats variables, these beat the "
    "file.\n";

constexpr std::string_view kReceivers =
    "\nSeveral receivers at once stand in the YAML file, each with any of the receiver's "
    "settings:\n"
    "  receivers:\n"
    "    - endpoint: http://collector:4317\n"
    "    - name: backup\n"
    "      endpoint: https://backup:4318\n"
    "      protocol: http/protobuf\n";

std::string FlagColumn(const SettingRow& row, std::string_view default_text) {
  const std::string short_form = row.short_flag ? fmt::format("-{}, ", row.short_flag) : "    ";
  if (row.kind == ValueKind::kSwitch && default_text.starts_with("true"))
    return fmt::format("    --[no-]{}", row.key);
  return fmt::format("{}--{}{}{}", short_form, row.key, row.placeholder.empty() ? "" : " ",
                     row.placeholder);
}

// Letters as a terminal shows them: "…" is three bytes and one column.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string FlagLine(std::string_view flag, std::string_view help, std::string_view default_text) {
  constexpr size_t kColumn = 30;
  std::string line = fmt::format("  {}", flag);
  line += Columns(line) < kColumn ? std::string(kColumn - Columns(line), ' ')
                                  : fmt::format("\n{}", std::string(kColumn, ' '));
  line += fmt::format("{}", help);
  if (!default_text.empty()) line += fmt::format(" [{}]", default_text);
  return line + "\n";
}

std::string_view Examples(Verb verb) {
  switch (verb) {
    case kRecordVerb:
      return "\nExamples:\n"
             "  stackray record -d 10                           the whole host, into a page\n"
             "  stackray record -p 1234 -d 30 -o out.pb.gz      one process, for pprof\n"
             "  stackray record -o build.html -- make -j8       a build and all it starts\n"
             "  stackray record -d 5 -o - > out.folded          folded stacks\n"
             "  stackray record --type off-cpu,cpu -p 1234      where its threads wait\n"
             "  stackray record -p 1234 --group-by trace        each request on its own\n";
    case kAgentVerb:
      return "\nExamples:\n"
             "  stackray agent                                  history and page on "
             "127.0.0.1:7171\n"
             "  stackray agent --endpoint https://collector:4317\n"
             "  stackray agent --config stackray.yaml --check-config\n"
             "  stackray agent --status                         what the running agent counts\n";
    case kCheckVerb: return "\nFILE - is standard input.\n\nExample:\n  stackray check out.otlp\n";
    case kConvertVerb:
      return "\nIN - is standard input, OUT - standard output.\n\nExamples:\n"
             "  stackray convert out.otlp out.html\n"
             "  stackray convert out.otlp -o out.pb.gz -o out.folded\n"
             "  stackray convert out.otlp waits.folded --type off-cpu\n"
             "  stackray convert out.otlp slow.html --trace 4bf92f3577b34da6a3ce929d0e0e4736\n"
             "  stackray convert out.otlp out.folded --group-by label:http.route\n";
    case kCaptureVerb:
      return "\nWithout list, stop or get a capture begins; NAME is what list and get call it.\n"
             "Targets stand on the command line alone.\n\nExamples:\n"
             "  stackray capture -p 1234                        60 s at 499 Hz, into a page\n"
             "  stackray capture slow --service shop --user www-data -F 997 -d 5m --no-wait\n"
             "  stackray capture list\n"
             "  stackray capture get slow -o slow.html -o slow.otlp\n";
    case kExplainVerb: return "\nExample:\n  stackray explain 1234 -d 10\n";
    case kViewVerb:
      return "\nFILE - is standard input. The address carries a token; Ctrl-C ends it.\n\n"
             "Examples:\n"
             "  stackray view out.otlp\n"
             "  stackray view stackray-20260131-174502.html\n";
    case kDumpVerb:
      return "\nThe process goes on meanwhile. Exit code 1: some thread has no stack.\n\n"
             "Examples:\n"
             "  stackray dump 1234\n"
             "  stackray dump 1234 --json | jq '.threads[].name'\n";
    case kReportVerb:
      return "\nWithout list, get or delete a report begins, of PID or of the ten heaviest\n"
             "processes of the target (docs/reports.md).\n\nExamples:\n"
             "  stackray report                                 prints the report's path\n"
             "  stackray report 1234 --trigger-name slow-login\n"
             "  stackray report --service checkout\n"
             "  stackray report list\n"
             "  stackray view $(stackray report get NAME)\n";
    case kDoctorVerb: return "";
  }
  return "";
}

std::string Section(Verb verb, HelpSection section) {
  std::string text;
  for (const SettingRow& row : SettingTable()) {
    if (row.section != section || !(row.verbs & verb)) continue;
    const std::string_view default_text = DefaultFor(verb, row.default_text);
    text += fmt::format("{}", FlagLine(FlagColumn(row, default_text), row.help, default_text));
  }
  if (section == HelpSection::kTarget && verb == kRecordVerb)
    text += fmt::format(
        "{}",
        FlagLine("-- CMD ARG…",
                 "run CMD and look at all it starts, until it ends; with -d for that long", ""));
  if (section == HelpSection::kLog) {
    text += fmt::format("{}", FlagLine("    --config FILE", "YAML file with settings", "none"));
    if (verb == kAgentVerb)
      text += fmt::format(
                  "{}", FlagLine("    --check-config", "check all settings, show them, end", "")) +
              fmt::format("{}", FlagLine("    --status",
                                         "print the numbers of the agent that runs, as JSON", ""));
    text += fmt::format("{}", FlagLine("-h, --help", "this text", ""));
  }
  return text;
}

}  // namespace

std::span<const VerbName> VerbNames() { return kVerbs; }

std::optional<Verb> FindVerb(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &VerbName::name);
  if (found == std::end(kVerbs)) return std::nullopt;
  return found->verb;
}

std::string_view NameOf(Verb verb) {
  return std::ranges::find(kVerbs, verb, &VerbName::verb)->name;
}

std::string GeneralHelp() {
  std::string text =
      "stackray: shows where every process of this host spends its time, without changing any.\n\n"
      "Usage: stackray VERB [FLAGS]\n\nVerbs:\n";
  for (const VerbName& verb : kVerbs)
    text +=
        fmt::format("{}", FlagLine(fmt::format("{}{}{}", verb.name,
                                               verb.arguments.empty() ? "" : " ", verb.arguments),
                                   verb.summary, ""));
  return fmt::format(
      "{}{}{}\nStart with:\n  sudo stackray record -d 10        writes a page with a flame graph\n "
      " sudo stackray agent               then open the printed address\n\nExit codes: 0 done, 1 "
      "failed, 2 wrong use; record -- CMD: CMD's own,\n128+N when signal N ended it, 127 not "
      "found, 126 not "
      "executable.\n",
      text, FlagLine("-V, --version", "the version", ""),
      FlagLine("VERB --help", "a verb's flags", ""));
}

std::string VerbHelp(Verb verb) {
  const VerbName& name = *std::ranges::find(kVerbs, verb, &VerbName::verb);
  std::string text =
      fmt::format("stackray {}: {}\n\nUsage: stackray {} [FLAGS]{}{}\n", name.name, name.summary,
                  name.name, name.arguments.empty() ? "" : " ", name.arguments);
  for (const auto& [section, title] : kSections) {
    const std::string lines = Section(verb, section);
    const bool is_target = section == HelpSection::kTarget;
    if (!lines.empty())
      text += fmt::format("\n{}:\n{}",
                          is_target && verb == kCaptureVerb       ? kCaptureTargets
                          : is_target && (verb & kFileVerbs) != 0 ? kFileSamples
                                                                  : title,
                          lines);
  }
  if (verb == kRecordVerb || verb == kConvertVerb || verb == kCaptureVerb)
    text += fmt::format("{}", kFormats);
  return fmt::format("{}{}{}{}", text, Examples(verb), kLayers,
                     verb == kAgentVerb ? kReceivers : "");
}

}  // namespace stackray
