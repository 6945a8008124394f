#include "agent/settings/given_setting.h"

#include <fmt/format.h>

namespace stackray {

const std::string* FindVariable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

std::string PlaceOf(const GivenSetting& given) {
  return given.source == SettingSource::kFile ? fmt::format("{}: {}", given.origin, given.row->key)
                                              : given.origin;
}

absl::Status BadValue(const GivenSetting& given) {
  const std::string value = given.row->secret ? "the value (not shown)"
                                              : fmt::format("\"{}\"", fmt::join(given.texts, " "));
  return absl::InvalidArgumentError(
      fmt::format("{}: {} is not allowed; expected {}", PlaceOf(given), value, given.row->allowed));
}

absl::Status Apply(const GivenSetting& given, SettingValues& values) {
  if (given.row->receiver_field != nullptr) {
    values.receiver.origins[std::string(given.row->key)] = PlaceOf(given);
    if (given.source == SettingSource::kOtelVariable) {
      values.receiver.*given.row->receiver_field = given.texts[0];
      return absl::OkStatus();
    }
  }
  return given.row->apply(values, given.texts) ? absl::OkStatus() : BadValue(given);
}

}  // namespace stackray
