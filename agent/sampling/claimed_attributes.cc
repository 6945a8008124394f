#include "agent/sampling/claimed_attributes.h"

#include <algorithm>

#include "reporter/attribute_names.h"

namespace stackray {
namespace {

constexpr size_t kMostKeyBytes = 256;
// Each with its dot, as the keys below them are compared.
constexpr std::string_view kKnown[] = {"process.", "container.", "host.",        "os.",
                                       "thread.",  "stackray.",  "k8s.pod.uid.", "service.name."};
constexpr std::string_view kKnownToOthers[] = {"k8s.", "cloud."};

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool IsTaken(char c) {
  return IsLetterOrDigit(c) || std::string_view("._-/:").find(c) != std::string_view::npos;
}

// Without case, every run of marks as one dot, none in front and one at the end.
std::string Plain(std::string_view key) {
  std::string plain;
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      plain += static_cast<char>(c - 'A' + 'a');
    } else if (IsLetterOrDigit(c)) {
      plain += c;
    } else if (!plain.empty() && plain.back() != '.') {
      plain += '.';
    }
  }
  if (!plain.empty() && plain.back() != '.') plain += '.';
  return plain;
}

}  // namespace

std::optional<std::string> ClaimedKey(std::string_view key) {
  if (key.empty() || key.size() > kMostKeyBytes || !std::ranges::all_of(key, IsTaken))
    return std::nullopt;
  const std::string plain = Plain(key);
  const auto begins = [&](std::string_view prefix) { return plain.starts_with(prefix); };
  if (plain.empty() || std::ranges::any_of(kKnown, begins)) return std::nullopt;
  if (std::ranges::none_of(kKnownToOthers, begins)) return std::string(key);
  // Another spelling could become the very key that others know.
  for (const std::string_view prefix : kKnownToOthers)
    if (key.starts_with(prefix)) return std::string(kClaimedPrefix).append(key);
  return std::nullopt;
}

}  // namespace stackray
