#include "agent/settings/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <map>

#include "absl/status/status.h"
#include "agent/settings/capture_list.h"
#include "agent/settings/report_list.h"
#include "agent/settings/suggestion.h"
#include "agent/settings/value_parsers.h"
#include "agent/settings/yaml_document.h"
#include "agent/settings/yaml_place.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;

enum class Level { kFile, kReceiver };

absl::Status UnknownKey(const std::string& name, const YAML::Node& key, Level level) {
  std::vector<std::string_view> keys = {level == Level::kFile ? "receivers" : "name"};
  if (level == Level::kFile) keys.insert(keys.end(), {"captures", "reports"});
  for (const SettingRow& row : SettingTable())
    if (level == Level::kFile || row.receiver_field != nullptr) keys.push_back(row.key);
  return WrongYaml(
      name, key, fmt::format("unknown key \"{}\"{}", key.Scalar(), DidYouMean(key.Scalar(), keys)));
}

absl::StatusOr<GivenSetting> ParseEntry(const YAML::Node& key, const YAML::Node& value,
                                        const std::string& name, Level level) {
  if (!key.IsScalar()) return WrongYaml(name, key, "a key must be plain text");
  GivenSetting given{
      FindSettingInFile(key.Scalar()), SettingSource::kFile, YamlPlace(name, key.Mark()), {}};
  if (given.row == nullptr || (level == Level::kReceiver && given.row->receiver_field == nullptr))
    return UnknownKey(name, key, level);
  if (value.IsScalar() && !value.Scalar().empty()) {
    given.texts.push_back(value.Scalar());
  } else if (value.IsSequence() && given.row->kind == ValueKind::kList && value.size() > 0) {
    for (const YAML::Node& element : value) {
      if (!element.IsScalar())
        return WrongYaml(name, element, "a list's elements must be plain text");
      given.texts.push_back(element.Scalar());
    }
  } else {
    return WrongYaml(
        name, key, fmt::format("{} needs a value; expected {}", key.Scalar(), given.row->allowed));
  }
  return given;
}

// Keys that were seen, to find those given twice.
class SeenKeys {
 public:
  explicit SeenKeys(const std::string& name) : name_(name) {}
  absl::Status Add(const YAML::Node& key) {
    if (!key.IsScalar()) return absl::OkStatus();
    const SettingRow* row = FindSettingInFile(key.Scalar());
    const std::string setting = row == nullptr ? key.Scalar() : std::string(row->key);
    const auto [first, added] = first_.emplace(setting, YamlPlace(name_, key.Mark()));
    if (added) return absl::OkStatus();
    return WrongYaml(
        name_, key,
        fmt::format("key \"{}\" given twice, first at {}", key.Scalar(), first->second));
  }

 private:
  const std::string& name_;
  std::map<std::string, std::string> first_;
};

absl::StatusOr<GivenReceiver> ParseReceiver(const YAML::Node& node, const std::string& name) {
  if (!node.IsMap())
    return WrongYaml(name, node,
                     "a receiver is a mapping, like \"- endpoint: http://collector:4317\"");
  GivenReceiver receiver{YamlPlace(name, node.Mark()), {}, {}};
  SeenKeys seen(name);
  bool has_endpoint = false;
  for (const auto& entry : node) {
    if (absl::Status status = seen.Add(entry.first); !status.ok()) return status;
    if (entry.first.IsScalar() && entry.first.Scalar() == "name") {
      if (!entry.second.IsScalar() || !IsReceiverName(entry.second.Scalar()))
        return WrongYaml(
            name, entry.first,
            "name: expected 1 to 64 letters, digits, '.', '_' or '-', not \"history\"");
      receiver.name = entry.second.Scalar();
      continue;
    }
    absl::StatusOr<GivenSetting> given =
        ParseEntry(entry.first, entry.second, name, Level::kReceiver);
    if (!given.ok()) return given.status();
    has_endpoint |= given->row->key == "endpoint";
    receiver.settings.push_back(*std::move(given));
  }
  if (!has_endpoint) return WrongYaml(name, node, "this receiver has no endpoint");
  return receiver;
}

absl::StatusOr<std::vector<GivenReceiver>> ParseReceivers(const YAML::Node& key,
                                                          const YAML::Node& value,
                                                          const std::string& name) {
  if (!value.IsSequence() || value.size() == 0 || value.size() > kMaxReceivers)
    return WrongYaml(name, key,
                     fmt::format("receivers: expected a list of 1 to {} receivers", kMaxReceivers));
  std::vector<GivenReceiver> receivers;
  for (const YAML::Node& element : value) {
    absl::StatusOr<GivenReceiver> receiver = ParseReceiver(element, name);
    if (!receiver.ok()) return receiver.status();
    receivers.push_back(*std::move(receiver));
  }
  return receivers;
}

// Throws what yaml-cpp throws.
absl::StatusOr<ConfigFile> ParseDocument(const YAML::Node& root, const std::string& name) {
  ConfigFile file;
  if (root.IsNull()) return file;
  if (!root.IsMap()) return WrongYaml(name, root, "expected \"key: value\" lines");
  SeenKeys seen(name);
  for (const auto& entry : root) {
    if (absl::Status status = seen.Add(entry.first); !status.ok()) return status;
    if (entry.first.IsScalar() && entry.first.Scalar() == "receivers") {
      absl::StatusOr<std::vector<GivenReceiver>> receivers =
          ParseReceivers(entry.first, entry.second, name);
      if (!receivers.ok()) return receivers.status();
      file.receivers = *std::move(receivers);
      continue;
    }
    if (entry.first.IsScalar() && entry.first.Scalar() == "captures") {
      absl::StatusOr<std::vector<CaptureEntry>> captures = ReadCaptureList(entry.second, name);
      if (!captures.ok()) return captures.status();
      file.captures = *std::move(captures);
      continue;
    }
    if (entry.first.IsScalar() && entry.first.Scalar() == "reports") {
      absl::StatusOr<ReportSettings> reports = ReadReportSettings(entry.second, name);
      if (!reports.ok()) return reports.status();
      file.reports = *std::move(reports);
      continue;
    }
    absl::StatusOr<GivenSetting> given = ParseEntry(entry.first, entry.second, name, Level::kFile);
    if (!given.ok()) return given.status();
    file.settings.push_back(*std::move(given));
  }
  return file;
}

}  // namespace

absl::StatusOr<ConfigFile> ParseConfigText(std::string_view text, const std::string& name) {
  return ReadYaml(text, name, ParseDocument);
}

absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid())
    return absl::NotFoundError(
        fmt::format("cannot open the configuration {}: {}", path, std::strerror(errno)));
  std::string text(kMaxFileBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return absl::InvalidArgumentError(
          fmt::format("cannot read the configuration {}: {}", path, std::strerror(errno)));
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > kMaxFileBytes)
    return absl::InvalidArgumentError(
        fmt::format("the configuration {} is larger than 1 MiB", path));
  text.resize(length);
  return ParseConfigText(text, path);
}

}  // namespace stackray
