#include "agent/settings/resource_attribute_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "reporter/valid_text.h"

namespace stackray {
namespace {

constexpr size_t kMaxKeyBytes = 255, kMaxValueBytes = 1024;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

absl::Status Bad(std::string_view part, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("\"{}\": {}", part.substr(0, 100), why));
}

absl::StatusOr<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2)
      return Bad(text.substr(i, 3), "after % there must be two hexadecimal digits");
    decoded += static_cast<char>(byte);
    i += 2;
  }
  if (ValidUtf8Prefix(decoded) != decoded.size())
    return Bad(text, "is no valid UTF-8 once decoded");
  return decoded;
}

}  // namespace

absl::StatusOr<ResourceAttributes> ParseResourceAttributes(std::string_view text) {
  ResourceAttributes attributes;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = Trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return Bad(part, "no = between key and value");
    absl::StatusOr<std::string> key = PercentDecoded(Trimmed(part.substr(0, equals)));
    if (!key.ok()) return key.status();
    absl::StatusOr<std::string> value = PercentDecoded(Trimmed(part.substr(equals + 1)));
    if (!value.ok()) return value.status();
    if (key->empty()) return Bad(part, "no key before the =");
    if (key->size() > kMaxKeyBytes || value->size() > kMaxValueBytes)
      return Bad(part, "longer than 255 bytes (a key) or 1024 (a value)");
    const auto same = std::ranges::find(attributes, *key, &ResourceAttributes::value_type::first);
    if (same != attributes.end()) {
      same->second = *std::move(value);
    } else if (attributes.size() == kMaxResourceAttributes) {
      return absl::InvalidArgumentError("more than 64 attributes");
    } else {
      attributes.emplace_back(*std::move(key), *std::move(value));
    }
  }
  return attributes;
}

}  // namespace stackray
