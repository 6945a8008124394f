#include "reporter/export/size_errors.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <system_error>

namespace stackray {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool SpeaksOfSize(std::string_view message) {
  return HasAny(message, {"too large", "larger than", "too big", "size limit", "exceeds the limit",
                          "maximum size", "max size", "size exceed", "exceeds max"});
}

std::string Lower(std::string_view message) {
  std::string lower(message);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower;
}

}  // namespace

bool SpeaksOfRequestSize(std::string_view message) {
  const std::string text = Lower(message);
  return SpeaksOfSize(text) && !SpeaksOfProfileSize(text);
}

// Pyroscope 2: "push series … failed: the profile with labels '{…}' exceeds the size limit (…)".
bool SpeaksOfProfileSize(std::string_view message) {
  const std::string text = Lower(message);
  return SpeaksOfSize(text) && HasAny(text, {"profile with labels", "push series"});
}

size_t SizeLimitIn(std::string_view message) {
  constexpr std::string_view kWords = "larger than max ", kVersus = " vs. ";
  const size_t words = message.find(kWords);
  if (words == std::string_view::npos) return 0;
  std::string_view rest = message.substr(words + kWords.size());
  if (const size_t versus = rest.find(kVersus); versus != std::string_view::npos)
    rest = rest.substr(versus + kVersus.size());
  size_t limit = 0;
  const std::errc error = std::from_chars(rest.data(), rest.data() + rest.size(), limit).ec;
  return error == std::errc() ? limit : 0;
}

}  // namespace stackray
