#include "agent/settings/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "agent/settings/config_file.h"
#include "agent/settings/flag_parser.h"
#include "agent/settings/help_text.h"
#include "agent/settings/suggestion.h"
#include "agent/settings/verb_settings.h"

namespace stackray {
namespace {

const std::string* FindVariable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

std::vector<GivenSetting> SettingsFromEnvironment(Verb verb, const Environment& environment) {
  std::vector<GivenSetting> settings;
  for (const SettingRow& row : SettingTable()) {
    if (!(row.verbs & verb)) continue;
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

// OTEL variables beat the file: what one of them says is not taken from there.
bool SaidByOtel(const SettingRow& row, const Environment& environment) {
  if (row.otel_suffix.empty()) return false;
  return FindVariable(environment,
                      fmt::format("OTEL_EXPORTER_OTLP_PROFILES_{}", row.otel_suffix)) ||
         FindVariable(environment, fmt::format("OTEL_EXPORTER_OTLP_{}", row.otel_suffix));
}

absl::Status BadValue(const GivenSetting& given) {
  const std::string value = given.row->secret ? "the value (not shown)"
                                              : fmt::format("\"{}\"", fmt::join(given.texts, " "));
  const std::string key =
      given.source == SettingSource::kFile ? fmt::format(": {}", given.row->key) : "";
  return absl::InvalidArgumentError(fmt::format("{}{}: {} is not allowed; expected {}",
                                                given.origin, key, value, given.row->allowed));
}

// Reads every value, also of settings that a stronger source replaces: a wrong file is told at
// once.
absl::Status CheckValues(const std::vector<GivenSetting>& settings) {
  for (const GivenSetting& given : settings) {
    SettingValues scratch;
    if (!given.row->apply(scratch, given.texts)) return BadValue(given);
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
absl::StatusOr<std::vector<GivenSetting>> PickStrongest(const std::vector<GivenSetting>& settings,
                                                        bool has_program) {
  SettingSource target_source = has_program ? SettingSource::kCommandLine : SettingSource::kDefault;
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
    if (row.is_target && !target.empty())
      return absl::InvalidArgumentError(
          fmt::format("{} and {} name two targets; give only one of them", target, best->origin));
    if (row.is_target) target = best->origin;
    strongest.push_back(*best);
  }
  return strongest;
}

std::vector<EffectiveSetting> Effective(Verb verb, const std::vector<GivenSetting>& strongest) {
  std::vector<EffectiveSetting> effective;
  for (const SettingRow& row : SettingTable()) {
    if (!(row.verbs & verb)) continue;
    const auto given = std::ranges::find(strongest, &row, &GivenSetting::row);
    if (given == strongest.end()) {
      effective.push_back(
          {std::string(row.key), std::string(DefaultFor(verb, row.default_text)), "default"});
    } else {
      effective.push_back({std::string(row.key),
                           row.secret ? "***" : fmt::format("{}", fmt::join(given->texts, ",")),
                           given->origin});
    }
  }
  return effective;
}

// All sources' settings of this verb, each value checked.
absl::StatusOr<std::vector<GivenSetting>> Collect(Verb verb, const ParsedFlags& flags,
                                                  const Environment& environment) {
  const std::string* config_variable = FindVariable(environment, "STACKRAY_CONFIG");
  std::vector<GivenSetting> settings;
  if (flags.config_path || config_variable) {
    const std::string path = flags.config_path ? *flags.config_path : *config_variable;
    absl::StatusOr<std::vector<GivenSetting>> file = ReadConfigFile(path);
    if (!file.ok()) return file.status();
    settings = *std::move(file);
    if (absl::Status status = CheckValues(settings); !status.ok()) return status;
    std::erase_if(settings, [&](const GivenSetting& given) {
      return !(given.row->verbs & verb) || SaidByOtel(*given.row, environment);
    });
  }
  for (GivenSetting& given : SettingsFromEnvironment(verb, environment))
    settings.push_back(std::move(given));
  settings.insert(settings.end(), flags.settings.begin(), flags.settings.end());
  if (absl::Status status = CheckValues(settings); !status.ok()) return status;
  return settings;
}

absl::StatusOr<CommandLine> ParseVerb(Verb verb, const ParsedFlags& flags,
                                      const Environment& environment) {
  const absl::StatusOr<std::vector<GivenSetting>> given = Collect(verb, flags, environment);
  if (!given.ok()) return given.status();
  const absl::StatusOr<std::vector<GivenSetting>> strongest =
      PickStrongest(*given, !flags.program.empty());
  if (!strongest.ok()) return strongest.status();
  CommandLine line;
  SettingValues values;
  for (const GivenSetting& setting : *strongest)
    if (!setting.row->apply(values, setting.texts)) return BadValue(setting);
  line.log = values.log;
  line.warnings = UnknownVariables(environment);
  line.effective = Effective(verb, *strongest);
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
  if (arguments.empty())
    return absl::InvalidArgumentError(
        "expected a verb, like \"stackray record\" (see stackray --help)");
  const std::string& word = arguments[0];
  if (word == "--help" || word == "-h" || word == "help") {
    const std::optional<Verb> about = arguments.size() > 1 ? FindVerb(arguments[1]) : std::nullopt;
    line.verb = HelpRequest{about ? VerbHelp(*about) : GeneralHelp()};
    return line;
  }
  if (word == "--version") {
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

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const Environment& environment) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return ParseCommandLine(arguments, environment);
}

}  // namespace stackray
