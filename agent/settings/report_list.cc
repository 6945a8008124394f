#include "agent/settings/report_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agent/settings/setting_stores.h"
#include "agent/settings/suggestion.h"
#include "agent/settings/value_parsers.h"
#include "agent/settings/yaml_place.h"

namespace stackray {
namespace {

constexpr std::string_view kPathWords = "an absolute path";
constexpr std::string_view kNameWords =
    "1 to 64 letters, digits, '.', '_' or '-', not beginning with '.' or '-'";
constexpr std::string_view kCommandWords = "1 to 15 bytes, as the kernel has a command's name";
constexpr std::string_view kTimeWords = "a time like 10s or 5m",
                           kSizeExample = "a size like 256MiB";

// A key whose value is text; false: it is no such value.
template <typename T>
struct TextKey {
  std::string_view key;
  bool (*read)(const std::string& text, T& to);
  std::string_view expected;
};

bool ReadPath(const std::string& text, std::string& path) {
  return text.starts_with('/') && StoreText(text, path);
}
bool ReadTime(const std::string& text, int64_t least_ms, int64_t most_ms, int64_t& ms) {
  const std::optional<int64_t> value = ParseDurationMs(text);
  return value && *value >= least_ms && *value <= most_ms && StoreParsed(value, ms);
}
bool ReadPercent(const std::string& text, double& percent) {
  const std::optional<double> value = ParsePercent(text);
  return value && *value > 0 && *value <= 100 && StoreParsed(value, percent);
}

constexpr int64_t kDayMs = 86'400'000, kSecondMs = 1000;
constexpr int64_t kLongestMs = 3650 * kDayMs;

using Trigger = ReportTriggerEntry;
constexpr TextKey<Trigger> kTriggerKeys[] = {
    {"kind",
     [](const std::string& text, Trigger& t) {
       t.kind = text;
       return std::ranges::find(kReportTriggerKinds, text) != std::end(kReportTriggerKinds);
     },
     "memory-pressure, cpu-pressure, io-pressure, memory-events, oom, timer, file, signal or "
     "budget"},
    {"name",
     [](const std::string& text, Trigger& t) {
       t.name = text;
       return IsCaptureName(text);
     },
     kNameWords},
    {"cgroup", [](const std::string& text, Trigger& t) { return ReadPath(text, t.cgroup); },
     kPathWords},
    {"above",
     [](const std::string& text, Trigger& t) { return ReadPercent(text, t.above_percent); },
     "a percentage above 0 and up to 100, like 20%"},
    {"window",
     [](const std::string& text, Trigger& t) {
       return ReadTime(text, kSecondMs, 600 * kSecondMs, t.window_ms);
     },
     "a time from 1s to 10m"},
    {"every",
     [](const std::string& text, Trigger& t) {
       return ReadTime(text, kSecondMs, kLongestMs, t.every_ms);
     },
     kTimeWords},
    {"jitter",
     [](const std::string& text, Trigger& t) { return ReadTime(text, 0, kDayMs, t.jitter_ms); },
     kTimeWords},
    {"path", [](const std::string& text, Trigger& t) { return ReadPath(text, t.path); },
     kPathWords},
    {"command",
     [](const std::string& text, Trigger& t) {
       return text.size() <= 15 && StoreText(text, t.command);
     },
     kCommandWords},
};

using Collector = CollectorEntry;
constexpr TextKey<Collector> kCollectorKeys[] = {
    {"name",
     [](const std::string& text, Collector& c) {
       c.name = text;
       return IsCaptureName(text);
     },
     kNameWords},
    {"command",
     [](const std::string& text, Collector& c) {
       return text.size() <= 15 && StoreText(text, c.command);
     },
     kCommandWords},
    {"timeout",
     [](const std::string& text, Collector& c) {
       return ReadTime(text, kSecondMs / 10, 60 * kSecondMs, c.timeout_ms);
     },
     "a time from 100ms to 1m"},
    {"memory",
     [](const std::string& text, Collector& c) {
       return StoreParsed(ParseSizeBytes(text), c.memory_bytes) && c.memory_bytes >= kMiB;
     },
     "a size of 1MiB or more"},
    {"output",
     [](const std::string& text, Collector& c) {
       return StoreParsed(ParseSizeBytes(text), c.output_bytes) && c.output_bytes >= 1 &&
              c.output_bytes <= 64 * kMiB;
     },
     "a size up to 64MiB"},
};

using Reports = ReportSettings;
constexpr TextKey<Reports> kReportKeys[] = {
    {"max-bytes",
     [](const std::string& text, Reports& r) {
       return StoreParsed(ParseSizeBytes(text), r.max_bytes) && r.max_bytes >= kMiB;
     },
     "a size of 1MiB or more"},
    {"age",
     [](const std::string& text, Reports& r) {
       return ReadTime(text, 60 * kSecondMs, kLongestMs, r.age_ms);
     },
     "a time from 1m to 3650d"},
    {"free-space",
     [](const std::string& text, Reports& r) {
       return StoreParsed(ParseSizeBytes(text), r.free_space_bytes);
     },
     kSizeExample},
    {"distance",
     [](const std::string& text, Reports& r) { return ReadTime(text, 0, kDayMs, r.distance_ms); },
     kTimeWords},
    {"most-a-day",
     [](const std::string& text, Reports& r) {
       const std::optional<uint64_t> number = ParseWholeNumber(text);
       r.most_a_day = static_cast<uint32_t>(std::min<uint64_t>(number.value_or(0), 10'000));
       return r.most_a_day >= 1;
     },
     "a whole number from 1 to 10000"},
    {"profile",
     [](const std::string& text, Reports& r) {
       return ReadTime(text, kSecondMs, 300 * kSecondMs, r.profile_ms);
     },
     "a time from 1s to 5m"},
    {"pressure-limit",
     [](const std::string& text, Reports& r) { return ReadPercent(text, r.pressure_percent); },
     "a percentage above 0 and up to 100"},
    {"send",
     [](const std::string& text, Reports& r) { return StoreParsed(ParseSwitch(text), r.send); },
     kSwitchWords},
    {"command-lines",
     [](const std::string& text, Reports& r) {
       return StoreParsed(ParseSwitch(text), r.command_lines);
     },
     kSwitchWords},
    {"kernel-log",
     [](const std::string& text, Reports& r) {
       return StoreParsed(ParseSwitch(text), r.kernel_log);
     },
     kSwitchWords},
    {"upload",
     [](const std::string& text, Reports& r) {
       return (text.starts_with("s3://") || text.starts_with("https://")) &&
              StoreText(text, r.upload);
     },
     "an address like s3://BUCKET/PREFIX or https://HOST/PATH"},
    {"upload-credentials",
     [](const std::string& text, Reports& r) { return ReadPath(text, r.upload_credentials); },
     kPathWords},
};

// Reads `key`'s value, if it is a text key of the table. nullopt: it is none of them.
template <typename T>
std::optional<absl::Status> ReadTextKey(std::span<const TextKey<T>> table, const YAML::Node& key,
                                        const YAML::Node& value, const std::string& name, T& to) {
  const std::string word = key.IsScalar() ? key.Scalar() : "";
  const auto row = std::ranges::find(table, word, &TextKey<T>::key);
  if (row == table.end()) return std::nullopt;
  if (value.IsScalar() && !value.Scalar().empty() && row->read(value.Scalar(), to))
    return absl::OkStatus();
  return WrongYaml(name, key, fmt::format("{}: expected {}", word, row->expected));
}

template <typename T>
absl::Status UnknownKeyOf(std::span<const TextKey<T>> table, const YAML::Node& key,
                          const std::string& name, std::vector<std::string_view> more) {
  const std::string word = key.IsScalar() ? key.Scalar() : "";
  for (const TextKey<T>& row : table) more.push_back(row.key);
  return WrongYaml(name, key, fmt::format("unknown key \"{}\"{}", word, DidYouMean(word, more)));
}

absl::Status CheckTrigger(const Trigger& trigger, const YAML::Node& node, const std::string& name) {
  if (trigger.kind.empty()) return WrongYaml(name, node, "this trigger has no kind");
  const auto needs = [&](std::string_view kind, bool is_there, std::string_view key) {
    return trigger.kind != kind || is_there
               ? absl::OkStatus()
               : WrongYaml(name, node, fmt::format("a trigger of kind {} needs {}", kind, key));
  };
  absl::Status status = needs("timer", trigger.every_ms > 0, "every");
  if (status.ok()) status = needs("file", !trigger.path.empty(), "path");
  if (status.ok()) status = needs("memory-events", !trigger.cgroup.empty(), "cgroup");
  return status;
}

absl::StatusOr<Trigger> ReadTrigger(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap()) return WrongYaml(name, node, "a trigger is a mapping with a kind");
  Trigger trigger{.origin = YamlPlace(name, node.Mark())};
  for (const auto& part : node) {
    const std::optional<absl::Status> read =
        ReadTextKey<Trigger>(kTriggerKeys, part.first, part.second, name, trigger);
    if (!read) return UnknownKeyOf<Trigger>(kTriggerKeys, part.first, name, {});
    if (!read->ok()) return *read;
  }
  if (absl::Status status = CheckTrigger(trigger, node, name); !status.ok()) return status;
  if (trigger.name.empty()) trigger.name = trigger.kind;
  return trigger;
}

absl::Status ReadExec(const YAML::Node& key, const YAML::Node& value, const std::string& name,
                      Collector& collector) {
  constexpr size_t kMostWords = 64, kMostBytes = 4096;
  const auto wrong = [&] {
    return WrongYaml(name, key, "exec: expected a list of words, like [jcmd, \"{pid}\", VM.flags]");
  };
  if (!value.IsSequence() || value.size() == 0 || value.size() > kMostWords) return wrong();
  for (const YAML::Node& word : value) {
    if (!word.IsScalar() || word.Scalar().size() > kMostBytes ||
        word.Scalar().find('\0') != std::string::npos)
      return wrong();
    collector.exec.push_back(word.Scalar());
  }
  return collector.exec.front().empty() ? wrong() : absl::OkStatus();
}

absl::StatusOr<Collector> ReadCollector(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap()) return WrongYaml(name, node, "a collector is a mapping with name and exec");
  Collector collector;
  for (const auto& part : node) {
    if (part.first.IsScalar() && part.first.Scalar() == "exec") {
      if (absl::Status status = ReadExec(part.first, part.second, name, collector); !status.ok())
        return status;
      continue;
    }
    const std::optional<absl::Status> read =
        ReadTextKey<Collector>(kCollectorKeys, part.first, part.second, name, collector);
    if (!read) return UnknownKeyOf<Collector>(kCollectorKeys, part.first, name, {"exec"});
    if (!read->ok()) return *read;
  }
  if (collector.name.empty() || collector.exec.empty())
    return WrongYaml(name, node, "a collector needs name and exec");
  return collector;
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadList(const YAML::Node& key, const YAML::Node& value,
                                        const std::string& name, size_t most,
                                        absl::StatusOr<T> (*read)(const YAML::Node&,
                                                                  const std::string&)) {
  std::vector<T> list;
  if (!value.IsSequence() || value.size() > most)
    return WrongYaml(name, key, fmt::format("expected a list of at most {}", most));
  for (const YAML::Node& element : value) {
    absl::StatusOr<T> one = read(element, name);
    if (!one.ok()) return one.status();
    list.push_back(*std::move(one));
  }
  return list;
}

absl::Status ReadKey(const YAML::Node& key, const YAML::Node& value, const std::string& name,
                     Reports& reports) {
  const std::string word = key.IsScalar() ? key.Scalar() : "";
  if (word == "triggers") {
    auto triggers = ReadList<Trigger>(key, value, name, kMostReportTriggers, &ReadTrigger);
    if (!triggers.ok()) return triggers.status();
    reports.triggers = *std::move(triggers);
    return absl::OkStatus();
  }
  if (word == "collectors") {
    auto collectors = ReadList<Collector>(key, value, name, kMostCollectors, &ReadCollector);
    if (!collectors.ok()) return collectors.status();
    reports.collectors = *std::move(collectors);
    return absl::OkStatus();
  }
  const std::optional<absl::Status> read =
      ReadTextKey<Reports>(kReportKeys, key, value, name, reports);
  return read ? *read : UnknownKeyOf<Reports>(kReportKeys, key, name, {"collectors", "triggers"});
}

}  // namespace

absl::StatusOr<ReportSettings> ReadReportSettings(const YAML::Node& node, const std::string& name) {
  ReportSettings reports{.automatic = true};
  if (node.IsNull()) return reports;
  if (!node.IsMap()) return WrongYaml(name, node, "reports: expected a mapping");
  for (const auto& part : node)
    if (absl::Status status = ReadKey(part.first, part.second, name, reports); !status.ok())
      return status;
  return reports;
}

}  // namespace stackray
