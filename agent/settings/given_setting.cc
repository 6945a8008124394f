#include "agent/settings/given_setting.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "agent/settings/value_parsers.h"
#include "reporter/shown_url.h"

namespace stackray {

namespace {

constexpr std::string_view kTracesKey = "traces-";

}  // namespace

const std::string* FindVariable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

std::string PlaceOf(const GivenSetting& given) {
  return given.source == SettingSource::kFile ? fmt::format("{}: {}", given.origin, given.row->key)
                                              : given.origin;
}

namespace {

// Which of the outputs is wrong, and what about it; empty: none alone.
std::string WhyBadOutput(const std::vector<std::string>& paths) {
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    if (!OutputFormatOf(*path)) return WhyNoOutput(*path);
    if (std::find(paths.begin(), path, *path) != path)
      return fmt::format("{} is given twice", *path);
  }
  return "";
}

}  // namespace

// An address may have a password in it, or a token in its query; so may those of debuginfod.
std::string ShownValue(const GivenSetting& given) {
  if (given.row->secret) return "***";
  const std::string text = fmt::format("{}", fmt::join(given.texts, ","));
  if (text.find("://") == std::string::npos && text.find('@') == std::string::npos) return text;
  const std::string_view key = given.row->key;
  if (key != "debuginfod" && key != "endpoint" && key != "traces-endpoint") return text;
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  for (std::string& word : words) word = ShownUrl(word);
  return fmt::format("{}", fmt::join(words, " "));
}

absl::Status BadValue(const GivenSetting& given) {
  const std::string value = given.row->secret ? "the value (not shown)"
                            : given.texts.size() == 1
                                ? fmt::format("\"{}\"", ShownValue(given))
                                : fmt::format("\"{}\"", fmt::join(given.texts, " "));
  const std::string why = given.row->key == "output" ? WhyBadOutput(given.texts) : "";
  return absl::InvalidArgumentError(fmt::format("{}: {} is not allowed{}{}; expected {}",
                                                PlaceOf(given), value, why.empty() ? "" : ": ", why,
                                                given.row->allowed));
}

absl::Status Apply(const GivenSetting& given, SettingValues& values) {
  if (given.row->receiver_field != nullptr) {
    values.receiver.origins[std::string(given.row->key)] = PlaceOf(given);
    if (given.source == SettingSource::kOtelVariable) {
      values.receiver.*given.row->receiver_field = given.texts[0];
      return absl::OkStatus();
    }
  }
  if (given.row->traces_field != nullptr) {
    ReceiverStrings& receiver = values.agent.traces.receiver;
    receiver.origins[std::string(given.row->key.substr(kTracesKey.size()))] = PlaceOf(given);
    if (given.source == SettingSource::kOtelVariable) {
      receiver.*given.row->traces_field = given.texts[0];
      return absl::OkStatus();
    }
  }
  return given.row->apply(values, given.texts) ? absl::OkStatus() : BadValue(given);
}

}  // namespace stackray
