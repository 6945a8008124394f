#include "agent/settings/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "agent/settings/config_file.h"
#include "agent/settings/flag_parser.h"
#include "agent/settings/help_text.h"
#include "agent/settings/receiver_list.h"
#include "agent/settings/resource_attribute_list.h"
#include "agent/settings/suggestion.h"
#include "agent/settings/verb_settings.h"

namespace stackray {
namespace {

// What OpenTelemetry asks of a program that cannot read its attributes: leave all of them out, and
// say so (specification 1.44, Resource SDK).
bool WarnOfBadAttributes(const GivenSetting& given, std::vector<std::string>& warnings) {
  SettingValues scratch;
  if (given.row->receiver_field != nullptr || given.row->traces_field != nullptr ||
      given.row->apply(scratch, given.texts))
    return false;
  const absl::Status why = ParseResourceAttributes(given.texts[0]).status();
  warnings.push_back(fmt::format("{} is not used: {}", given.origin,
                                 given.row->key == "resource-attributes" && !why.ok()
                                     ? std::string(why.message())
                                     : std::string(BadValue(given).message())));
  return true;
}

std::vector<GivenSetting> SettingsFromEnvironment(Verb verb, const Environment& environment,
                                                  std::vector<std::string>& warnings) {
  std::vector<GivenSetting> settings;
  for (const SettingRow& row : SettingTable()) {
    if (!(row.verbs & verb)) continue;
    for (const std::string& name : OtelVariables(row)) {
      const std::string* value = FindVariable(environment, name);
      if (value == nullptr) continue;
      const GivenSetting given{&row, SettingSource::kOtelVariable, name, {*value}};
      if (!WarnOfBadAttributes(given, warnings)) settings.push_back(given);
      break;
    }
    const std::string name = VariableName(row);
    if (const std::string* value = FindVariable(environment, name))
      settings.push_back({&row, SettingSource::kVariable, name, {*value}});
  }
  return settings;
}

// A variable that begins like ours but names no setting is told, not refused: Kubernetes itself
// makes STACKRAY_SERVICE_… and STACKRAY_PORT… for a Service of our name.
std::vector<std::string> UnknownVariables(const Environment& environment) {
  std::vector<std::string> names = {"STACKRAY_CONFIG"};
  for (const SettingRow& row : SettingTable()) names.push_back(VariableName(row));
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("STACKRAY_") || name.starts_with("STACKRAY_SERVICE_") ||
        name.starts_with("STACKRAY_PORT") || std::ranges::find(names, name) != names.end())
      continue;
    warnings.push_back(
        fmt::format("the variable {} is no setting{}", name, DidYouMean(name, known)));
  }
  return warnings;
}

// Reads every value, also of settings that a stronger source replaces: a wrong file is told at
// once.
absl::Status CheckValues(const std::vector<GivenSetting>& settings) {
  for (const GivenSetting& given : settings) {
    SettingValues scratch;
    if (absl::Status status = Apply(given, scratch); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// What convert finds in its input is for that to say; others sample the types that there are.
absl::Status CheckTypes(Verb verb, const std::vector<GivenSetting>& settings) {
  if (verb == kConvertVerb) return absl::OkStatus();
  for (const GivenSetting& given : settings) {
    SettingValues scratch;
    if (absl::Status status = Apply(given, scratch); !status.ok()) return status;
    if (scratch.foreign_type) return BadValue(given);
  }
  return absl::OkStatus();
}

// A switch that says "not this target" names none.
bool NamesTarget(const GivenSetting& given) {
  SettingValues values;
  return given.row->is_target && given.row->apply(values, given.texts) &&
         (given.row->kind != ValueKind::kSwitch || values.whole_host);
}

// The strongest source's word on each setting, in the order of --help; targets as in the header.
absl::StatusOr<std::vector<GivenSetting>> PickStrongest(Verb verb,
                                                        const std::vector<GivenSetting>& settings,
                                                        bool has_program) {
  // What an agent samples, by its file or variables, is no target of a request.
  const bool is_request = verb == kCaptureVerb || verb == kReportVerb;
  SettingSource target_source =
      has_program || is_request ? SettingSource::kCommandLine : SettingSource::kDefault;
  for (const GivenSetting& given : settings)
    if (NamesTarget(given)) target_source = std::max(target_source, given.source);
  std::vector<GivenSetting> strongest;
  std::string target = has_program ? "-- CMD" : "";
  for (const SettingRow& row : SettingTable()) {
    const GivenSetting* best = nullptr;
    for (const GivenSetting& given : settings)
      if (given.row == &row && (best == nullptr || given.source > best->source)) best = &given;
    if (best == nullptr || (row.is_target && !NamesTarget(*best))) continue;
    if (row.is_target && best->source < target_source) continue;
    if (row.is_target && !target.empty() && verb != kCaptureVerb)
      return absl::InvalidArgumentError(
          fmt::format("{} and {} name two targets; give only one of them", target, best->origin));
    if (row.is_target) target = best->origin;
    strongest.push_back(*best);
  }
  return strongest;
}

std::vector<EffectiveSetting> Effective(Verb verb, const std::vector<GivenSetting>& strongest,
                                        const ReceiverChoice& choice) {
  std::vector<EffectiveSetting> effective;
  for (const SettingRow& row : SettingTable()) {
    if (!(row.verbs & verb) || (row.receiver_field != nullptr && choice.from_list)) continue;
    const auto given = std::ranges::find(strongest, &row, &GivenSetting::row);
    effective.push_back(given != strongest.end()
                            ? Described(*given)
                            : EffectiveSetting{std::string(row.key),
                                               std::string(DefaultFor(verb, row.default_text)),
                                               "default"});
  }
  effective.insert(effective.end(), choice.effective.begin(), choice.effective.end());
  return effective;
}

// All sources' settings, each value checked.
struct Collected {
  ConfigFile file;                     // As it stands, for every verb.
  std::vector<GivenSetting> settings;  // Of this verb, from all sources.
  std::vector<std::string> warnings;
};

absl::StatusOr<Collected> Collect(Verb verb, const ParsedFlags& flags,
                                  const Environment& environment) {
  const std::string* config_variable = FindVariable(environment, "STACKRAY_CONFIG");
  Collected all;
  if (flags.config_path || config_variable) {
    const std::string path = flags.config_path ? *flags.config_path : *config_variable;
    absl::StatusOr<ConfigFile> file = ReadConfigFile(path);
    if (!file.ok()) return file.status();
    all.file = *std::move(file);
    if (absl::Status status = CheckValues(all.file.settings); !status.ok()) return status;
    if (absl::Status status = CheckTypes(verb, all.file.settings); !status.ok()) return status;
    for (const GivenSetting& given : all.file.settings)
      if (given.row->verbs & verb) all.settings.push_back(given);
  }
  for (GivenSetting& given : SettingsFromEnvironment(verb, environment, all.warnings))
    all.settings.push_back(std::move(given));
  all.settings.insert(all.settings.end(), flags.settings.begin(), flags.settings.end());
  if (absl::Status status = CheckValues(all.settings); !status.ok()) return status;
  if (absl::Status status = CheckTypes(verb, all.settings); !status.ok()) return status;
  return all;
}

absl::StatusOr<CommandLine> ParseVerb(Verb verb, const ParsedFlags& flags,
                                      const Environment& environment) {
  absl::StatusOr<Collected> given = Collect(verb, flags, environment);
  if (!given.ok()) return given.status();
  const absl::StatusOr<std::vector<GivenSetting>> strongest =
      PickStrongest(verb, given->settings, !flags.program.empty());
  if (!strongest.ok()) return strongest.status();
  absl::StatusOr<ReceiverChoice> receivers =
      verb == kAgentVerb ? ChooseReceivers(given->file, *strongest) : ReceiverChoice{};
  if (!receivers.ok()) return receivers.status();
  CommandLine line;
  SettingValues values;
  for (const GivenSetting& setting : *strongest)
    if (absl::Status status = Apply(setting, values); !status.ok()) return status;
  line.log = values.log;
  line.warnings = UnknownVariables(environment);
  for (auto* warnings : {&given->warnings, &receivers->warnings})
    std::ranges::move(*warnings, std::back_inserter(line.warnings));
  line.effective = Effective(verb, *strongest, *receivers);
  values.agent.receivers = std::move(receivers->receivers);
  values.agent.captures = std::move(given->file.captures);
  values.agent.reports = std::move(given->file.reports);
  if (absl::Status status = BuildVerb(verb, std::move(values), flags, environment, line);
      !status.ok())
    return status;
  return line;
}

absl::StatusOr<CommandLine> NoSuchVerb(const std::string& word) {
  std::vector<std::string_view> names;
  for (const VerbName& verb : VerbNames()) names.push_back(verb.name);
  return absl::InvalidArgumentError(
      fmt::format("{}{}{} (verbs: {}; see stackray --help)",
                  word.starts_with("-") ? "expected a verb before " : "there is no verb ", word,
                  DidYouMean(word, names), fmt::join(names, ", ")));
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const Environment& environment) {
  CommandLine line;
  const std::string word = arguments.empty() ? "help" : arguments[0];
  if (word == "--help" || word == "-h" || word == "help") {
    const std::optional<Verb> about = arguments.size() > 1 ? FindVerb(arguments[1]) : std::nullopt;
    line.verb = HelpRequest{about ? VerbHelp(*about) : GeneralHelp()};
    return line;
  }
  if (word == "--version" || word == "-V" || word == "version") {
    line.verb = VersionRequest{};
    return line;
  }
  const std::optional<Verb> verb = FindVerb(word);
  if (!verb) return NoSuchVerb(word);
  const absl::StatusOr<ParsedFlags> flags = ParseFlags(*verb, std::span(arguments).subspan(1));
  if (!flags.ok()) return flags.status();
  if (flags->help) {
    line.verb = HelpRequest{VerbHelp(*verb)};
    return line;
  }
  return ParseVerb(*verb, *flags, environment);
}

LogFormat EarlyLogFormat(int argc, const char* const* argv, const Environment& environment) {
  const std::span<const char* const> words(argv, static_cast<size_t>(std::max(argc, 0)));
  const auto find = [&](std::string_view flag, const char* variable) -> std::string {
    std::string found;
    for (size_t i = 1; i < words.size() && std::string_view(words[i]) != "--"; ++i) {
      const std::string_view word = words[i];
      if (word == flag && i + 1 < words.size()) found = words[i + 1];
      if (word.starts_with(flag) && word.substr(flag.size()).starts_with("="))
        found = word.substr(flag.size() + 1);
    }
    const std::string* given = FindVariable(environment, variable);
    return found.empty() && given != nullptr ? *given : found;
  };
  const std::string format = find("--log-format", "STACKRAY_LOG_FORMAT");
  if (!format.empty()) return format == "json" ? LogFormat::kJson : LogFormat::kText;
  std::ifstream file(find("--config", "STACKRAY_CONFIG"));
  constexpr int kMostLines = 10'000;
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i)
    if (line.starts_with("log-format:") && line.find("json") != std::string::npos)
      return LogFormat::kJson;
  return LogFormat::kText;
}

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const Environment& environment) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return ParseCommandLine(arguments, environment);
}

}  // namespace stackray
