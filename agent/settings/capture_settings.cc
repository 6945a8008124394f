#include "agent/settings/capture_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "agent/settings/caller.h"
#include "agent/settings/given_target.h"
#include "agent/settings/value_parsers.h"

namespace stackray {
namespace {

struct ActionWord {
  std::string_view word;
  CaptureAction action;
  size_t names;                            // That stand behind it.
  std::span<const std::string_view> keys;  // Of flags that it takes beside everybody's.
};
constexpr std::string_view kEverybodys[] = {"state-dir", "log-level", "log-format"};
constexpr std::string_view kGetKeys[] = {"output", "type"};
constexpr ActionWord kActions[] = {
    {"list", CaptureAction::kList, 0, {}},
    {"stop", CaptureAction::kStop, 1, {}},
    {"get", CaptureAction::kGet, 1, kGetKeys},
};

const GivenSetting* FindFlag(const ParsedFlags& flags, std::string_view key) {
  const auto found = std::ranges::find_if(
      flags.settings, [&](const GivenSetting& given) { return given.row->key == key; });
  return found == flags.settings.end() ? nullptr : &*found;
}

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{} (see stackray capture --help)", what));
}

// `capture list`, `stop` and `get`.
absl::Status CheckAction(const ActionWord& row, const ParsedFlags& flags) {
  if (flags.files.size() > row.names + 1)
    return Wrong(
        fmt::format("capture {}: unexpected argument {}", row.word, flags.files[row.names + 1]));
  if (flags.files.size() < row.names + 1)
    return Wrong(fmt::format("capture {} needs the NAME of a capture", row.word));
  for (const GivenSetting& given : flags.settings) {
    const auto is_it = [&](std::string_view key) { return key == given.row->key; };
    if (std::ranges::none_of(kEverybodys, is_it) && std::ranges::none_of(row.keys, is_it))
      return Wrong(fmt::format("capture {} takes no {}", row.word, given.origin));
  }
  if (row.action == CaptureAction::kGet && FindFlag(flags, "output") == nullptr)
    return Wrong("capture get needs -o FILE");
  return absl::OkStatus();
}

// Those of the command line, in the order of --help.
absl::StatusOr<std::vector<TargetSettings>> TargetsOf(const ParsedFlags& flags, bool inherit) {
  std::vector<TargetSettings> targets;
  for (const GivenSetting& given : flags.settings) {
    if (!given.row->is_target) continue;
    const bool is_list = given.row->kind == ValueKind::kList;
    for (size_t i = 0; i < (is_list ? 1 : given.texts.size()); ++i) {
      GivenSetting one = given;
      if (!is_list) one.texts = {given.texts[i]};
      absl::StatusOr<std::optional<TargetSettings>> target = GivenTarget(one);
      if (!target.ok()) return target.status();
      if (*target) targets.push_back(*std::move(*target));
    }
  }
  bool has_pids = false;
  for (TargetSettings& target : targets) {
    if (target.kind != TargetKind::kPids) continue;
    has_pids = true;
    target.inherit = inherit;
  }
  if (targets.empty())
    return Wrong(
        "capture needs a target: -p PID, --cgroup, --container, --command, --user or "
        "--service, or -a for the whole host");
  if (!has_pids && FindFlag(flags, "inherit") != nullptr)
    return absl::InvalidArgumentError("--inherit and --no-inherit go with -p only");
  return targets;
}

absl::Status BuildStart(const SettingValues& values, const ParsedFlags& flags,
                        CaptureSettings& capture) {
  if (flags.files.size() > 1)
    return Wrong(fmt::format("capture: unexpected argument {}", flags.files[1]));
  absl::StatusOr<std::vector<TargetSettings>> targets = TargetsOf(flags, values.target.inherit);
  if (!targets.ok()) return targets.status();
  capture.targets = *std::move(targets);
  capture.types = values.types.value_or(capture.types);
  capture.frequency_hz = values.frequency_hz.value_or(capture.frequency_hz);
  if (capture.frequency_hz > kMostCaptureHz)
    return Wrong(
        fmt::format("a capture takes at most {} samples a second on each CPU", kMostCaptureHz));
  capture.duration_ms = values.record.duration_ms.value_or(capture.duration_ms);
  capture.send = values.send_capture;
  capture.wait = values.wait_for_capture;
  if (!capture.wait && FindFlag(flags, "output") != nullptr)
    return Wrong("--no-wait writes no file; \"stackray capture get NAME -o FILE\" does it later");
  return absl::OkStatus();
}

}  // namespace

absl::Status BuildCapture(const SettingValues& values, const ParsedFlags& flags,
                          const Environment& environment, CommandLine& line) {
  CaptureSettings capture;
  const std::string word = flags.files.empty() ? "" : flags.files[0];
  const auto row = std::ranges::find(kActions, word, &ActionWord::word);
  const bool is_start = row == std::end(kActions);
  if (!is_start) {
    if (absl::Status status = CheckAction(*row, flags); !status.ok()) return status;
    capture.action = row->action;
  }
  const size_t name_at = is_start ? 0 : 1;
  if (flags.files.size() > name_at && capture.action != CaptureAction::kList) {
    capture.name = flags.files[name_at];
    if (!IsCaptureName(capture.name))
      return Wrong(
          fmt::format("\"{}\" is no capture's name; expected 1 to 64 letters, digits, '.', "
                      "'_' or '-', not beginning with '.' or '-'",
                      capture.name));
  }
  if (is_start)
    if (absl::Status status = BuildStart(values, flags, capture); !status.ok()) return status;
  if (capture.action == CaptureAction::kGet && values.types && FindFlag(flags, "type") != nullptr) {
    if (values.types->size() > 1) return Wrong("capture get takes one --type");
    capture.type = values.types->front();
  }
  capture.outputs = values.record.outputs;
  capture.state_dir = values.agent.state_dir;
  for (EffectiveSetting& setting : line.effective)
    if (setting.key == "state-dir" && setting.origin == "default")
      capture.state_dir = setting.value = DefaultStateDirectory(environment);
  capture.sudo_user = FindSudoUser(environment);
  line.verb = std::move(capture);
  return absl::OkStatus();
}

}  // namespace stackray
