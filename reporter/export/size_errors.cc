#include "reporter/export/size_errors.h"

#include <charconv>
#include <string>
#include <system_error>

namespace stackray {

bool SpeaksOfSize(std::string_view message) {
  std::string lower(message);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (const char* words :
       {"too large", "larger than", "too big", "size limit", "exceeds the limit", "maximum size",
        "max size", "size exceed", "exceeds max"})
    if (lower.find(words) != std::string::npos) return true;
  return false;
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
