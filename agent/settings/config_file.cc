#include "agent/settings/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <map>

#include "absl/status/status.h"
#include "agent/settings/suggestion.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;

std::string Place(const std::string& name, const YAML::Mark& mark) {
  return mark.line < 0 ? name : fmt::format("{}:{}", name, mark.line + 1);  // Marks count from 0.
}

absl::Status Wrong(const std::string& name, const YAML::Node& node, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", Place(name, node.Mark()), what));
}

absl::Status UnknownKey(const std::string& name, const YAML::Node& key) {
  std::vector<std::string_view> keys;
  for (const SettingRow& row : SettingTable()) keys.push_back(row.key);
  return Wrong(name, key,
               fmt::format("unknown key \"{}\"{}", key.Scalar(), DidYouMean(key.Scalar(), keys)));
}

absl::StatusOr<GivenSetting> ParseEntry(const YAML::Node& key, const YAML::Node& value,
                                        const std::string& name) {
  if (!key.IsScalar()) return Wrong(name, key, "a key must be plain text");
  GivenSetting given{FindSetting(key.Scalar()), SettingSource::kFile, Place(name, key.Mark()), {}};
  if (given.row == nullptr) return UnknownKey(name, key);
  if (value.IsScalar() && !value.Scalar().empty()) {
    given.texts.push_back(value.Scalar());
  } else if (value.IsSequence() && given.row->kind == ValueKind::kList && value.size() > 0) {
    for (const YAML::Node& element : value) {
      if (!element.IsScalar()) return Wrong(name, element, "a list's elements must be plain text");
      given.texts.push_back(element.Scalar());
    }
  } else {
    return Wrong(name, key,
                 fmt::format("{} needs a value; expected {}", key.Scalar(), given.row->allowed));
  }
  return given;
}

// Throws what yaml-cpp throws.
absl::StatusOr<std::vector<GivenSetting>> ParseDocument(const std::string& text,
                                                        const std::string& name) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(text);
  std::vector<GivenSetting> settings;
  if (documents.empty() || (documents.size() == 1 && documents[0].IsNull())) return settings;
  if (documents.size() > 1) return Wrong(name, documents[1], "a second YAML document");
  if (!documents[0].IsMap()) return Wrong(name, documents[0], "expected \"key: value\" lines");
  std::map<const SettingRow*, std::string> seen;
  for (const auto& entry : documents[0]) {
    absl::StatusOr<GivenSetting> given = ParseEntry(entry.first, entry.second, name);
    if (!given.ok()) return given.status();
    const auto [first, added] = seen.emplace(given->row, given->origin);
    if (!added)
      return Wrong(
          name, entry.first,
          fmt::format("key \"{}\" given twice, first at {}", given->row->key, first->second));
    settings.push_back(*std::move(given));
  }
  return settings;
}

}  // namespace

absl::StatusOr<std::vector<GivenSetting>> ParseConfigText(std::string_view text,
                                                          const std::string& name) {
  try {
    return ParseDocument(std::string(text), name);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not YAML: {}", Place(name, error.mark), error.msg));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{}: not YAML: {}", name, error.what()));
  }
}

absl::StatusOr<std::vector<GivenSetting>> ReadConfigFile(const std::string& path) {
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
