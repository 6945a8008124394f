#include "agent/captures/capture_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/captures/capture_json.h"
#include "agent/settings/target_text.h"
#include "agent/settings/value_parsers.h"
#include "reporter/valid_text.h"

namespace stackray {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostNameBytes = 64, kMostTextBytes = 4096;
constexpr size_t kMostTargets = 64, kMostPids = 4096;
constexpr int64_t kMostPid = 1 << 22;  // The kernel's PID_MAX_LIMIT on 64-bit machines.
constexpr std::array<std::string_view, 3> kTakenNames = {"list", "stop", "get"};

// The kinds whose JSON is one text.
struct TextKind {
  std::string_view key;
  TargetKind kind;
  std::string TargetSettings::*field;
  size_t most_bytes;
};
constexpr std::array kTextKinds = {
    TextKind{"cgroup", TargetKind::kCgroup, &TargetSettings::cgroup_path, kMostTextBytes},
    TextKind{"container", TargetKind::kContainer, &TargetSettings::container_id, 64},
    TextKind{"command", TargetKind::kCommandName, &TargetSettings::command_name, 15},
    TextKind{"service", TargetKind::kService, &TargetSettings::service_name, 255},
    TextKind{"label", TargetKind::kLabel, &TargetSettings::label, 320},
};

template <typename... Arguments>
absl::Status Bad(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<Arguments>(arguments)...));
}

bool IsPlainText(std::string_view text, size_t most_bytes) {
  return !text.empty() && text.size() <= most_bytes && ValidUtf8Prefix(text) == text.size() &&
         std::ranges::none_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

absl::Status CheckTarget(const TargetSettings& target) {
  for (const TextKind& row : kTextKinds) {
    if (row.kind != target.kind) continue;
    if (!IsPlainText(target.*row.field, row.most_bytes))
      return Bad("a target's {} is a text of 1 to {} bytes", row.key, row.most_bytes);
    const auto is_digit = [](unsigned char c) {
      return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
    };
    if (row.kind == TargetKind::kContainer &&
        (target.container_id.size() < 12 || !std::ranges::all_of(target.container_id, is_digit)))
      return Bad("a target's container is 12 to 64 hexadecimal digits");
    if (row.kind == TargetKind::kLabel && !IsLabelTarget(target.label))
      return Bad("a target's label is KEY=VALUE, of at most 64 and 255 bytes");
    return absl::OkStatus();
  }
  if (target.kind == TargetKind::kProgram)
    return Bad("a capture starts no program; stackray record -- CMD does");
  if (target.kind != TargetKind::kPids) return absl::OkStatus();
  if (target.pids.empty() || target.pids.size() > kMostPids || target.pids.front() == 0 ||
      target.pids.back() > kMostPid ||
      std::ranges::adjacent_find(target.pids, std::greater_equal<>()) != target.pids.end())
    return Bad("a target's pids are 1 to {} different ones from 1 to {}", kMostPids, kMostPid);
  return absl::OkStatus();
}

// One number, or a list of them.
void ReadPids(const Json& json, JsonFields& fields, std::vector<uint32_t>* pids) {
  const auto take = [&](const Json& pid) {
    if (!pid.is_number_integer() || pid < 1 || pid > kMostPid)
      return fields.Fail(fmt::format("has \"pid\": numbers from 1 to {}", kMostPid));
    pids->push_back(pid.get<uint32_t>());
  };
  if (!json.is_array()) return take(json);
  if (json.empty() || json.size() > kMostPids)
    return fields.Fail(fmt::format("has \"pid\": 1 to {} numbers", kMostPids));
  for (const Json& pid : json) take(pid);
  std::ranges::sort(*pids);
  pids->erase(std::ranges::unique(*pids).begin(), pids->end());
}

absl::StatusOr<std::vector<SampleOrigin>> TypesFromJson(const Json& list) {
  std::vector<SampleOrigin> types;
  for (const Json& json : list) {
    const SampleType* type =
        json.is_string() ? FindSampleTypeByName(json.get_ref<const std::string&>()) : nullptr;
    if (type == nullptr) return Bad("a capture's types are of cpu, off-cpu and page-faults");
    types.push_back(type->origin);
  }
  return types;
}

// "90s", "15m", "1h".
std::string TimeText(int64_t ms) {
  for (const auto& [factor, unit] : {std::pair{3'600'000, "h"}, {60'000, "m"}, {1000, "s"}})
    if (ms % factor == 0) return fmt::format("{}{}", ms / factor, unit);
  return fmt::format("{}ms", ms);
}

}  // namespace

nlohmann::ordered_json ToJson(const TargetSettings& target) {
  for (const TextKind& row : kTextKinds)
    if (row.kind == target.kind) return {{row.key, target.*row.field}};
  if (target.kind == TargetKind::kUser) return {{"user", target.uid}};
  if (target.kind != TargetKind::kPids) return {{"host", true}};
  OrderedJson json;
  json["pid"] = target.pids.size() == 1 ? OrderedJson(target.pids[0]) : OrderedJson(target.pids);
  if (!target.inherit) json["inherit"] = false;
  return json;
}

absl::StatusOr<TargetSettings> TargetFromJson(const Json& json) {
  JsonFields fields(json, "a capture's target");
  TargetSettings target;
  int kinds = 0;
  const auto is_given = [&](std::string_view key, TargetKind kind) {
    const Json* found = fields.Find(key);
    if (found == nullptr) return found;
    target.kind = kind;
    ++kinds;
    return found;
  };
  for (const TextKind& row : kTextKinds)
    if (is_given(row.key, row.kind) != nullptr) fields.Read(row.key, &(target.*row.field));
  if (const Json* pids = is_given("pid", TargetKind::kPids)) {
    ReadPids(*pids, fields, &target.pids);
    fields.Read("inherit", &target.inherit);
  }
  if (is_given("user", TargetKind::kUser) != nullptr) {
    int64_t uid = 0;
    fields.Read("user", 0, UINT32_MAX - 1, &uid);  // (uid_t)-1 is no user.
    target.uid = static_cast<uid_t>(uid);
  }
  bool host = true;
  if (is_given("host", TargetKind::kWholeHost) != nullptr) fields.Read("host", &host);
  if (kinds != 1 || !host)
    fields.Fail(
        "is one of pid, cgroup, container, command, user, service, label and \"host\": true");
  if (absl::Status status = fields.Finish(); !status.ok()) return status;
  if (absl::Status status = CheckTarget(target); !status.ok()) return status;
  return target;
}

absl::Status CheckCaptureName(std::string_view name) {
  if (IsCaptureName(name)) return absl::OkStatus();
  if (std::ranges::find(kTakenNames, name) == kTakenNames.end())
    return Bad(
        "a capture's name is 1 to {} letters, digits, '.', '_' or '-', not beginning with "
        "'.' or '-'",
        kMostNameBytes);
  return Bad("\"{}\" is a word of stackray capture and no capture's name", name);
}

absl::Status CheckCapture(const CaptureSpec& spec, int64_t max_duration_ms) {
  if (absl::Status status = CheckCaptureName(spec.name); !status.ok()) return status;
  if (spec.targets.empty() || spec.targets.size() > kMostTargets)
    return Bad("a capture has 1 to {} targets", kMostTargets);
  for (const TargetSettings& target : spec.targets)
    if (absl::Status status = CheckTarget(target); !status.ok()) return status;
  std::vector<SampleOrigin> types = spec.types;
  std::ranges::sort(types);
  if (types.empty() || std::ranges::adjacent_find(types) != types.end())
    return Bad("a capture has one type or several different ones");
  if (spec.frequency_hz < 1 || spec.frequency_hz > kMostCaptureHz)
    return Bad("a capture's rate is from 1 to {} Hz", kMostCaptureHz);
  if (spec.duration_ms < 1 || spec.duration_ms > max_duration_ms)
    return Bad("a capture lasts from 1ms to {} (capture-max-duration)", TimeText(max_duration_ms));
  if (!spec.asked_by.empty() && !IsPlainText(spec.asked_by, kMostTextBytes))
    return Bad("who asks for a capture is a text of at most {} bytes", kMostTextBytes);
  return absl::OkStatus();
}

OrderedJson ToJson(const CaptureSpec& spec) {
  OrderedJson targets = OrderedJson::array(), types = OrderedJson::array();
  for (const TargetSettings& target : spec.targets) targets.push_back(ToJson(target));
  for (const SampleOrigin type : spec.types) types.push_back(TypeOf(type).name);
  return {{"name", spec.name},
          {"targets", targets},
          {"types", types},
          {"frequency_hz", spec.frequency_hz},
          {"duration_ms", spec.duration_ms},
          {"send", spec.send},
          {"asked_by", spec.asked_by}};
}

absl::StatusOr<CaptureSpec> CaptureFromJson(const Json& json) {
  JsonFields fields(json, "a capture");
  CaptureSpec spec;
  fields.Read("name", &spec.name);
  if (const Json* list = fields.FindList("targets", kMostTargets)) {
    for (const Json& element : *list) {
      absl::StatusOr<TargetSettings> target = TargetFromJson(element);
      if (!target.ok()) return target.status();
      spec.targets.push_back(*std::move(target));
    }
  }
  if (const Json* list = fields.FindList("types", kSampleOrigins)) {
    absl::StatusOr<std::vector<SampleOrigin>> types = TypesFromJson(*list);
    if (!types.ok()) return types.status();
    spec.types = *std::move(types);
  }
  int64_t frequency_hz = spec.frequency_hz;
  fields.Read("frequency_hz", 0, UINT32_MAX, &frequency_hz);
  spec.frequency_hz = static_cast<uint32_t>(frequency_hz);
  fields.Read("duration_ms", 0, INT64_MAX, &spec.duration_ms);
  fields.Read("send", &spec.send);
  fields.Read("asked_by", &spec.asked_by);
  if (absl::Status status = fields.Finish(); !status.ok()) return status;
  return spec;
}

std::string DescribeTargets(const CaptureSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.targets.size(); ++i) {
    const bool is_last = i + 1 == spec.targets.size();
    text += fmt::format("{}{}",
                        i == 0    ? ""
                        : is_last ? ", or "
                                  : ", ",
                        DescribeTarget(spec.targets[i]));
  }
  return text;
}

}  // namespace stackray
