#include "agent/settings/flag_parser.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <list>

#include "absl/status/status.h"
#include "agent/settings/help_text.h"
#include "agent/settings/suggestion.h"

namespace stackray {
namespace {

// CLI11 writes here while it parses, so the addresses must stay: a list, not a vector.
struct FlagSlot {
  const SettingRow* row;
  std::vector<std::string> texts;
};

std::string FlagName(const SettingRow& row) { return fmt::format("--{}", row.key); }

void AddRow(CLI::App& app, FlagSlot& slot) {
  const std::string name =
      slot.row->short_flag
          ? fmt::format("-{},{}", std::string(1, slot.row->short_flag), FlagName(*slot.row))
          : FlagName(*slot.row);
  const bool is_switch = slot.row->kind == ValueKind::kSwitch;
  CLI::Option* option =
      is_switch ? app.add_flag(fmt::format("{},--no-{}{{false}}", name, slot.row->key), slot.texts)
                : app.add_option(name, slot.texts)->type_size(1)->expected(1);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

std::vector<std::string_view> FlagsOf(Verb verb) {
  std::vector<std::string_view> keys = {"config", "help"};
  if (verb == kAgentVerb) keys.insert(keys.end(), {"check-config", "status"});
  for (const SettingRow& row : SettingTable())
    if (row.verbs & verb) keys.push_back(row.key);
  return keys;
}

// A receiver has no flag of its own name: several stand in the file's list, one is described by its
// endpoint.
std::string ReceiverHint(Verb verb, std::string_view key) {
  constexpr std::string_view kWords[] = {"receiver", "receivers"};
  if (NearestWord(key, kWords).empty()) return "";
  return verb == kAgentVerb ? "; did you mean --endpoint URL, or the list `receivers` of the file "
                              "that --config names?"
                            : "; did you mean stackray agent --endpoint URL?";
}

std::string FlagElsewhere(Verb verb, std::string_view key) {
  for (const VerbName& other : VerbNames()) {
    const std::string_view nearest = NearestWord(key, FlagsOf(other.verb));
    if (other.verb != verb && !nearest.empty())
      return fmt::format("; did you mean --{} of stackray {}?", nearest, other.name);
  }
  return "";
}

absl::Status UnknownFlag(Verb verb, std::string_view argument) {
  const std::string_view flag = argument.substr(0, argument.find('='));
  const std::string_view key = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::string hint;
  const SettingRow* elsewhere = FindSetting(key);
  for (const VerbName& other : VerbNames()) {
    if (elsewhere != nullptr && (elsewhere->verbs & other.verb) && hint.empty())
      hint = fmt::format("; it belongs to stackray {}", other.name);
  }
  if (hint.empty()) hint = DidYouMean(key, FlagsOf(verb), "--");
  if (hint.empty()) hint = ReceiverHint(verb, key);
  if (hint.empty()) hint = FlagElsewhere(verb, key);
  return absl::InvalidArgumentError(fmt::format("{} has no flag {}{} (see stackray {} --help)",
                                                NameOf(verb), flag, hint, NameOf(verb)));
}

// What CLI11 did not take: mistyped flags, and files where the verb has some.
absl::Status SortLeftovers(Verb verb, const std::vector<std::string>& leftovers,
                           ParsedFlags& parsed) {
  for (const std::string& argument : leftovers) {
    if (argument.size() > 1 && argument.front() == '-') return UnknownFlag(verb, argument);
    parsed.files.push_back(argument);
  }
  return absl::OkStatus();
}

// CLI11 names the flag before a colon; all that is left for it to find is a flag without its value.
absl::Status FromCliError(Verb verb, const CLI::Error& error) {
  const std::string_view text = error.what();
  const bool no_value = error.get_name() == "ArgumentMismatch";
  const std::string what =
      no_value ? fmt::format("{} needs a value", text.substr(0, text.find(':'))) : error.what();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} (see stackray {} --help)", NameOf(verb), what, NameOf(verb)));
}

// Throws what CLI11 throws.
absl::StatusOr<ParsedFlags> ParseWithCli(Verb verb, std::span<const std::string> arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  ParsedFlags parsed;
  std::string config_path;
  std::list<FlagSlot> slots;
  app.add_flag("-h,--help", parsed.help);
  const CLI::Option* config = app.add_option("--config", config_path)
                                  ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if (verb == kAgentVerb) {
    app.add_flag("--check-config", parsed.check_config);
    app.add_flag("--status", parsed.status);
  }
  for (const SettingRow& row : SettingTable())
    if (row.verbs & verb) AddRow(app, slots.emplace_back(FlagSlot{&row, {}}));
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // It pops the back.
  if (absl::Status status = SortLeftovers(verb, app.remaining(), parsed); !status.ok())
    return status;
  if (config->count() > 0) parsed.config_path = config_path;
  for (FlagSlot& slot : slots) {
    if (slot.texts.empty()) continue;
    const bool is_one_of_several = (verb & (kCaptureVerb | kFileVerbs)) != 0 &&
                                   slot.row->is_target && slot.row->kind == ValueKind::kText;
    if (slot.row->kind != ValueKind::kList && !is_one_of_several)
      slot.texts.erase(slot.texts.begin(), slot.texts.end() - 1);
    parsed.settings.push_back(
        {slot.row, SettingSource::kCommandLine, FlagName(*slot.row), std::move(slot.texts)});
  }
  return parsed;
}

// "--page=" would be "--page" to CLI11, and "--pid=" a flag whose value is the next argument.
absl::Status RefuseEmptyValues(Verb verb, std::span<const std::string> flags) {
  for (const std::string& flag : flags) {
    if (!flag.starts_with("--") || flag.find('=') != flag.size() - 1) continue;
    const SettingRow* row = FindSetting(std::string_view(flag).substr(2, flag.size() - 3));
    if (row != nullptr && (row->verbs & verb) != 0)
      return BadValue({row, SettingSource::kCommandLine, FlagName(*row), {""}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParsedFlags> ParseFlags(Verb verb, std::span<const std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  const auto flags = std::span(arguments.begin(), dashes);
  ParsedFlags help;
  help.help = true;
  if (std::ranges::find(flags, "--help") != flags.end() ||
      std::ranges::find(flags, "-h") != flags.end())
    return help;
  if (absl::Status status = RefuseEmptyValues(verb, flags); !status.ok()) return status;
  try {
    absl::StatusOr<ParsedFlags> parsed = ParseWithCli(verb, flags);
    if (!parsed.ok() || dashes == arguments.end()) return parsed;
    parsed->program.assign(dashes + 1, arguments.end());
    if (parsed->program.empty()) return absl::InvalidArgumentError("no command after \"--\"");
    return parsed;
  } catch (const CLI::Error& error) {
    return FromCliError(verb, error);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("command line: {}", error.what()));
  }
}

}  // namespace stackray
