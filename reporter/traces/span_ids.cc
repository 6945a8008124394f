#include "reporter/traces/span_ids.h"

#include <cstddef>

namespace stackray {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kTraceAt = 3, kSpanAt = 36, kFlagsAt = 53, kBytes = 55;

template <size_t kSize>
void AppendHex(const std::array<uint8_t, kSize>& bytes, std::string& text) {
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

// False where a letter is no lower-case digit.
template <size_t kSize>
bool ReadHex(std::string_view text, std::array<uint8_t, kSize>& bytes) {
  for (size_t i = 0; i < kSize; ++i) {
    const size_t high = kDigits.find(text[2 * i]), low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace

std::string TraceparentOf(const SpanIds& context) {
  std::string text = "00-";
  text.reserve(kBytes);
  AppendHex(context.trace, text);
  text += '-';
  AppendHex(context.span, text);
  text += context.sampled ? "-01" : "-00";
  return text;
}

std::optional<SpanIds> ParseTraceparent(std::string_view text) {
  if (text.size() != kBytes || !text.starts_with("00-") || text[kSpanAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-')
    return std::nullopt;
  SpanIds context;
  std::array<uint8_t, 1> flags{};
  if (!ReadHex(text.substr(kTraceAt), context.trace) ||
      !ReadHex(text.substr(kSpanAt), context.span) || !ReadHex(text.substr(kFlagsAt), flags) ||
      !context.valid())
    return std::nullopt;
  context.sampled = (flags[0] & 1) != 0;
  return context;
}

}  // namespace stackray
