#include "agent/settings/receiver_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/settings/value_parsers.h"

namespace stackray {
namespace {

constexpr size_t kMaxNameBytes = 64;

// "collector-4317" of "http://collector:4317/path".
std::string NameFromEndpoint(std::string_view endpoint) {
  if (const size_t scheme = endpoint.find("://"); scheme != std::string_view::npos)
    endpoint.remove_prefix(scheme + 3);
  std::string name(endpoint.substr(0, std::min(endpoint.find_first_of("/?#"), kMaxNameBytes)));
  for (char& c : name)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  name.erase(0, std::min(name.find_first_not_of("-."), name.size()));
  return IsReceiverName(name) ? name : "receiver";
}

absl::StatusOr<ReceiverStrings> BuildReceiver(const GivenReceiver& given) {
  SettingValues values;
  for (const GivenSetting& setting : given.settings)
    if (absl::Status status = Apply(setting, values); !status.ok()) return status;
  ReceiverStrings receiver = std::move(values.receiver);
  receiver.name = given.name.empty() ? NameFromEndpoint(receiver.endpoint) : given.name;
  return receiver;
}

const GivenSetting* FindEndpoint(const std::vector<GivenSetting>& settings) {
  const auto found = std::ranges::find_if(
      settings, [](const GivenSetting& given) { return given.row->key == "endpoint"; });
  return found == settings.end() ? nullptr : &*found;
}

absl::StatusOr<ReceiverChoice> BuildList(const ConfigFile& file) {
  ReceiverChoice choice;
  choice.from_list = true;
  for (const GivenReceiver& given : file.receivers) {
    absl::StatusOr<ReceiverStrings> receiver = BuildReceiver(given);
    if (!receiver.ok()) return receiver.status();
    const auto same = std::ranges::find(choice.receivers, receiver->name, &ReceiverStrings::name);
    if (same != choice.receivers.end())
      return absl::InvalidArgumentError(
          fmt::format("{}: two receivers are called \"{}\"; give one of them another name",
                      given.origin, receiver->name));
    const int index = static_cast<int>(choice.receivers.size());
    choice.effective.push_back({"name", receiver->name, given.origin, index});
    for (const GivenSetting& setting : given.settings) {
      choice.effective.push_back(Described(setting));
      choice.effective.back().receiver = index;
    }
    choice.receivers.push_back(*std::move(receiver));
  }
  return choice;
}

}  // namespace

EffectiveSetting Described(const GivenSetting& given) {
  std::string value = ShownValue(given);
  // The variable's bare number is milliseconds, the file's is seconds.
  const auto is_digit = [](unsigned char c) { return absl::ascii_isdigit(c); };
  if (given.source == SettingSource::kOtelVariable && given.row->key.ends_with("timeout") &&
      std::ranges::all_of(value, is_digit))
    value += "ms";
  return {std::string(given.row->key), value, given.origin};
}

absl::StatusOr<ReceiverChoice> ChooseReceivers(const ConfigFile& file,
                                               const std::vector<GivenSetting>& strongest) {
  const GivenSetting* endpoint = FindEndpoint(strongest);
  if (!file.receivers.empty()) {
    const auto beside = std::ranges::find_if(file.settings, [](const GivenSetting& given) {
      return given.row->receiver_field != nullptr;
    });
    if (beside != file.settings.end())
      return absl::InvalidArgumentError(fmt::format(
          "{} stands beside receivers; write it into their list instead", PlaceOf(*beside)));
    absl::StatusOr<ReceiverChoice> choice =
        BuildList(file);  // Also a list that is not used is told when wrong.
    if (!choice.ok()) return choice;
    if (endpoint == nullptr) {
      for (const GivenSetting& given : strongest) {
        if (given.row->receiver_field != nullptr)
          choice->warnings.push_back(
              fmt::format("{} is not used: the receivers from {} have settings of their own",
                          given.origin, file.receivers[0].origin));
      }
      return choice;
    }
  }
  ReceiverChoice choice;
  if (endpoint == nullptr) return choice;
  SettingValues values;
  for (const GivenSetting& given : strongest) {
    if (given.row->receiver_field == nullptr) continue;
    if (absl::Status status = Apply(given, values); !status.ok()) return status;
  }
  if (!file.receivers.empty())
    choice.warnings.push_back(
        fmt::format("the receivers from {} are not used: {} names another one",
                    file.receivers[0].origin, endpoint->origin));
  choice.receivers.push_back(std::move(values.receiver));
  return choice;
}

}  // namespace stackray
