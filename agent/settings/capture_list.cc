#include "agent/settings/capture_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/settings/given_target.h"
#include "agent/settings/setting_stores.h"
#include "agent/settings/suggestion.h"
#include "agent/settings/value_parsers.h"
#include "agent/settings/yaml_document.h"
#include "agent/settings/yaml_place.h"

namespace stackray {
namespace {

constexpr size_t kMostTargets = 64, kMostHosts = 1024, kMostTexts = 4096;
constexpr char kTargetWords[] =
    "a mapping with one of pid, cgroup, container, command, user, service, label and host";

using Strings = std::vector<std::string>;

// A text, or a list of texts; nullopt: neither, empty or too long.
std::optional<Strings> TextsOf(const YAML::Node& node, size_t most) {
  Strings texts;
  if (node.IsScalar()) texts.push_back(node.Scalar());
  if (node.IsSequence() && node.size() <= most) {
    for (const YAML::Node& element : node) {
      if (!element.IsScalar()) return std::nullopt;
      texts.push_back(element.Scalar());
    }
  }
  const bool has_empty = std::ranges::any_of(texts, &std::string::empty);
  return texts.empty() || has_empty ? std::nullopt : std::optional(std::move(texts));
}

// A key whose value says all; false: it is no such value.
struct EntryKey {
  std::string_view key;
  bool (*read)(const YAML::Node& value, CaptureEntry& entry);
  std::string_view expected;
};

bool ReadTypes(const YAML::Node& value, CaptureEntry& entry) {
  const std::optional<Strings> texts = TextsOf(value, kSampleOrigins);
  SettingValues values;
  if (!texts || !StoreTypes(values, *texts) || !values.types) return false;
  entry.types = *std::move(values.types);
  return true;
}

bool ReadHosts(const YAML::Node& value, CaptureEntry& entry) {
  std::optional<Strings> texts = TextsOf(value, kMostHosts);
  const auto is_name = [](const std::string& text) {
    std::string ignored;
    return text.size() <= 255 && StoreText(text, ignored);
  };
  return texts && std::ranges::all_of(*texts, is_name) &&
         StoreParsed(std::move(texts), entry.hosts);
}

constexpr EntryKey kEntryKeys[] = {
    {"name",
     [](const YAML::Node& value, CaptureEntry& entry) {
       entry.name = value.IsScalar() ? value.Scalar() : "";
       return IsCaptureName(entry.name);
     },
     "1 to 64 letters, digits, '.', '_' or '-', not beginning with '.' or '-', not list, stop or "
     "get"},
    {"rate",
     [](const YAML::Node& value, CaptureEntry& entry) {
       const std::optional<uint64_t> hz = ParseWholeNumber(value.IsScalar() ? value.Scalar() : "");
       entry.frequency_hz = static_cast<uint32_t>(std::min<uint64_t>(hz.value_or(0), UINT32_MAX));
       return entry.frequency_hz >= 1 && entry.frequency_hz <= kMostCaptureHz;
     },
     "samples a second on each CPU, from 1 to 4999"},
    {"types", &ReadTypes, "different ones of cpu, off-cpu and page-faults"},
    {"until",
     [](const YAML::Node& value, CaptureEntry& entry) {
       entry.until_unix_ns = ParseTimeUnixNs(value.IsScalar() ? value.Scalar() : "");
       return entry.until_unix_ns.has_value();
     },
     "a time like 2026-11-26T18:05:00Z"},
    {"for",
     [](const YAML::Node& value, CaptureEntry& entry) {
       entry.duration_ms = ParseDurationMs(value.IsScalar() ? value.Scalar() : "");
       return entry.duration_ms.value_or(0) > 0;
     },
     "a time like 5m"},
    {"hosts", &ReadHosts, "names of hosts or globs, like [web-*, db-1]"},
    {"send",
     [](const YAML::Node& value, CaptureEntry& entry) {
       return StoreParsed(ParseSwitch(value.IsScalar() ? value.Scalar() : ""), entry.send);
     },
     kSwitchWords},
};

// A key and its value within a target.
absl::Status ReadTargetKey(const YAML::Node& key, const YAML::Node& value, const std::string& name,
                           std::optional<TargetSettings>& target, std::optional<bool>& inherit) {
  const std::string word = key.IsScalar() ? key.Scalar() : "";
  if (word == "inherit") {
    inherit = ParseSwitch(value.IsScalar() ? value.Scalar() : "");
    if (inherit) return absl::OkStatus();
    return WrongYaml(name, key, fmt::format("inherit: expected {}", kSwitchWords));
  }
  const SettingRow* row = FindSetting(word == "host" ? "all" : word);
  if (row == nullptr || !row->is_target || word == "all")
    return WrongYaml(name, key, fmt::format("\"{}\": expected {}", word, kTargetWords));
  std::optional<Strings> texts = TextsOf(value, kMostTexts);
  if (!texts || (texts->size() > 1 && row->kind != ValueKind::kList))
    return WrongYaml(name, key, fmt::format("{}: expected {}", word, row->allowed));
  absl::StatusOr<std::optional<TargetSettings>> given =
      GivenTarget({row, SettingSource::kFile, YamlPlace(name, key.Mark()), *std::move(texts)});
  if (!given.ok()) return given.status();
  if (!*given || target) return WrongYaml(name, key, fmt::format("a target is {}", kTargetWords));
  target = *std::move(*given);
  return absl::OkStatus();
}

absl::StatusOr<TargetSettings> ReadTarget(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap()) return WrongYaml(name, node, fmt::format("a target is {}", kTargetWords));
  std::optional<TargetSettings> target;
  std::optional<bool> inherit;
  for (const auto& part : node)
    if (absl::Status status = ReadTargetKey(part.first, part.second, name, target, inherit);
        !status.ok())
      return status;
  if (!target) return WrongYaml(name, node, fmt::format("a target is {}", kTargetWords));
  if (inherit && target->kind != TargetKind::kPids)
    return WrongYaml(name, node, "inherit goes with pid only");
  target->inherit = inherit.value_or(true);
  return *std::move(target);
}

absl::Status ReadTargets(const YAML::Node& key, const YAML::Node& value, const std::string& name,
                         std::vector<TargetSettings>& targets) {
  if (!targets.empty()) return WrongYaml(name, key, "target and targets: expected one of them");
  const bool is_list = key.Scalar() == "targets";
  if (is_list && (!value.IsSequence() || value.size() == 0 || value.size() > kMostTargets))
    return WrongYaml(name, key,
                     fmt::format("targets: expected a list of 1 to {} targets", kMostTargets));
  for (size_t i = 0; i < (is_list ? value.size() : 1); ++i) {
    absl::StatusOr<TargetSettings> target = ReadTarget(is_list ? value[i] : value, name);
    if (!target.ok()) return target.status();
    targets.push_back(*std::move(target));
  }
  return absl::OkStatus();
}

absl::Status ReadEntryKey(const YAML::Node& key, const YAML::Node& value, const std::string& name,
                          CaptureEntry& entry) {
  const std::string word = key.IsScalar() ? key.Scalar() : "";
  if (word == "target" || word == "targets") return ReadTargets(key, value, name, entry.targets);
  const auto found = std::ranges::find(kEntryKeys, word, &EntryKey::key);
  if (found == std::end(kEntryKeys)) {
    std::vector<std::string_view> keys = {"target", "targets"};
    for (const EntryKey& known : kEntryKeys) keys.push_back(known.key);
    return WrongYaml(name, key, fmt::format("unknown key \"{}\"{}", word, DidYouMean(word, keys)));
  }
  if (found->read(value, entry)) return absl::OkStatus();
  return WrongYaml(name, key, fmt::format("{}: expected {}", word, found->expected));
}

absl::StatusOr<CaptureEntry> ReadEntry(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap())
    return WrongYaml(name, node, "a capture is a mapping, like \"- name: web\" and more keys");
  CaptureEntry entry;
  entry.origin = YamlPlace(name, node.Mark());
  Strings seen;
  for (const auto& part : node) {
    if (part.first.IsScalar() && std::ranges::find(seen, part.first.Scalar()) != seen.end())
      return WrongYaml(name, part.first,
                       fmt::format("key \"{}\" given twice", part.first.Scalar()));
    if (absl::Status status = ReadEntryKey(part.first, part.second, name, entry); !status.ok())
      return status;
    seen.push_back(part.first.Scalar());
  }
  if (entry.name.empty()) return WrongYaml(name, node, "this capture has no name");
  if (entry.targets.empty())
    return WrongYaml(name, node, fmt::format("the capture {} has no target", entry.name));
  if (entry.until_unix_ns.has_value() == entry.duration_ms.has_value())
    return WrongYaml(name, node,
                     fmt::format("the capture {} needs one of until and for", entry.name));
  return entry;
}

// Throws what yaml-cpp throws.
absl::StatusOr<std::vector<CaptureEntry>> ReadDocument(const YAML::Node& root,
                                                       const std::string& name) {
  if (root.IsNull()) return std::vector<CaptureEntry>();
  if (!root.IsMap()) return ReadCaptureList(root, name);
  const bool has_list = root.size() == 1 && root["captures"].IsDefined();
  if (!has_list)
    return WrongYaml(name, root, "expected a list of captures, or captures: and the list");
  return ReadCaptureList(root["captures"], name);
}

}  // namespace

absl::StatusOr<std::vector<CaptureEntry>> ReadCaptureList(const YAML::Node& list,
                                                          const std::string& name) {
  std::vector<CaptureEntry> entries;
  if (list.IsNull()) return entries;
  if (!list.IsSequence() || list.size() > kMostCaptureEntries)
    return WrongYaml(name, list,
                     fmt::format("expected a list of at most {} captures", kMostCaptureEntries));
  for (const YAML::Node& element : list) {
    absl::StatusOr<CaptureEntry> entry = ReadEntry(element, name);
    if (!entry.ok()) return entry.status();
    if (std::ranges::find(entries, entry->name, &CaptureEntry::name) != entries.end())
      return WrongYaml(name, element, fmt::format("two captures are called \"{}\"", entry->name));
    entries.push_back(*std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::vector<CaptureEntry>> ParseCaptureFile(std::string_view text,
                                                           const std::string& name) {
  return ReadYaml(text, name, ReadDocument);
}

}  // namespace stackray
