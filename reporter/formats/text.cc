#include "reporter/formats/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stackray {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Utf8Step {
  size_t bytes;
  bool valid;
};

// The well-formed sequence at the start of `text`, or the maximal part that is none (Unicode 15,
// table 3-7). `text` is not empty.
Utf8Step NextCharacter(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, false};
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < low || byte > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

// The bytes of a line break at the start of `text`; 0 when there is none.
size_t LineBreakBytes(std::string_view text) {
  if (text[0] >= '\n' && text[0] <= '\r') return 1;
  if (text.starts_with("\xC2\x85")) return 2;
  if (text.starts_with("\xE2\x80\xA8") || text.starts_with("\xE2\x80\xA9")) return 3;
  return 0;
}

// Of a character (whole and valid) that drives a terminal instead of being shown.
bool IsControl(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  const auto last = static_cast<uint8_t>(character.back());
  if (character.size() == 2) return first == 0xC2 && last < 0xA0;  // U+0080 to U+009F.
  if (character.starts_with("\xE2\x80"))  // Marks, separators, embeddings and overrides.
    return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
  return character.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9;  // Isolates.
}

// The text without what cannot be shown. `instead` tells what stands for the first character of the
// rest; empty: the character itself.
template <typename Instead>
std::string Printed(std::string_view text, const Instead& instead) {
  std::string printed;
  printed.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = NextCharacter(text);
    const std::string_view character = text.substr(0, step.bytes);
    const std::string_view other = instead(text);
    printed += !other.empty()                        ? other
               : step.valid && !IsControl(character) ? character
                                                     : kReplacement;
    text.remove_prefix(step.bytes);
  }
  return printed;
}

void AppendJsonCharacter(char c, std::string* out) {
  switch (c) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default: break;
  }
  if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
    fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<unsigned>(c));
  } else {
    *out += c;
  }
}

}  // namespace

bool IsValidUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = NextCharacter(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.bytes);
  }
  return true;
}

std::string ToValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextCharacter(bytes);
    text += step.valid ? bytes.substr(0, step.bytes) : kReplacement;
    bytes.remove_prefix(step.bytes);
  }
  return text;
}

std::string_view PathBaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == path.size()) return path;
  return path.substr(slash + 1);
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const Utf8Step step = NextCharacter(text);
    const std::string_view character = text.substr(0, step.bytes);
    if (!step.valid)
      *out += kReplacement;
    else if (step.bytes == 1)
      AppendJsonCharacter(character[0], out);
    else if (step.bytes == 2 && IsControl(character))
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<uint8_t>(character[1]));
    else
      *out += character;
    text.remove_prefix(step.bytes);
  }
  *out += '"';
}

std::string FoldedElement(std::string_view text) {
  return Printed(text, [](std::string_view rest) {
    return LineBreakBytes(rest) != 0 || rest[0] == '\t' ? " " : rest[0] == ';' ? ":" : "";
  });
}

std::string WaitText(std::string_view wait) {
  std::string text(wait);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string PrintableText(std::string_view text) {
  return Printed(text, [](std::string_view) { return ""; });
}

std::string PrintableLines(std::string_view text) {
  std::string printable;
  for (;;) {
    const size_t end = text.find('\n');
    printable += PrintableText(text.substr(0, end));
    if (end == std::string_view::npos) return printable;
    text.remove_prefix(end + 1);
    printable += "\n  ";
  }
}

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : ToValidUtf8(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string AddressName(std::string_view path, uint64_t address,
                        std::optional<uint64_t> function_start) {
  const std::string_view file = PathBaseName(path);
  if (function_start)
    return fmt::format("[{}·fn_{:x}]", file.empty() ? "unknown" : file, *function_start);
  if (file.empty() && address == 0) return "[unknown]";
  return fmt::format("[{}+{:#x}]", file.empty() ? "unknown" : file, address);
}

}  // namespace stackray
