#include "agent/captures/capture_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace stackray {

JsonFields::JsonFields(const nlohmann::json& json, std::string_view what)
    : json_(json), what_(what) {
  if (!json.is_object()) Fail("is a JSON object");
}

void JsonFields::Fail(std::string_view why) {
  Take(absl::InvalidArgumentError(fmt::format("{} {}", what_, why)));
}

const nlohmann::json* JsonFields::Find(std::string_view key) {
  keys_.push_back(key);
  if (!ok()) return nullptr;
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

const nlohmann::json* JsonFields::FindList(std::string_view key, size_t most) {
  const nlohmann::json* found = Find(key);
  if (found == nullptr || (found->is_array() && found->size() <= most)) return found;
  Fail(fmt::format("has \"{}\": a list of at most {}", key, most));
  return nullptr;
}

void JsonFields::Read(std::string_view key, std::string* value) {
  const nlohmann::json* found = Find(key);
  if (found == nullptr) return;
  if (!found->is_string()) return Fail(fmt::format("has \"{}\": a text", key));
  *value = found->get_ref<const std::string&>();
}

void JsonFields::Read(std::string_view key, bool* value) {
  const nlohmann::json* found = Find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return Fail(fmt::format("has \"{}\": true or false", key));
  *value = found->get<bool>();
}

void JsonFields::Read(std::string_view key, int64_t least, int64_t most, int64_t* value) {
  const nlohmann::json* found = Find(key);
  if (found == nullptr) return;
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() || found->get<uint64_t>() <= INT64_MAX);
  const int64_t number = fits ? found->get<int64_t>() : 0;
  if (!fits || number < least || number > most)
    return Fail(fmt::format("has \"{}\": a whole number from {} to {}", key, least, most));
  *value = number;
}

absl::Status JsonFields::Finish() {
  if (!ok()) return status_;
  for (const auto& entry : json_.items()) {
    if (std::ranges::find(keys_, std::string_view(entry.key())) != keys_.end()) continue;
    Fail(fmt::format("has no key \"{}\"", entry.key()));
    break;
  }
  return status_;
}

}  // namespace stackray
