#include "reporter/valid_text.h"

#include <cstdint>

namespace stackray {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";     // U+2026

struct Sequence {
  size_t length;  // Bytes to take: a whole character, or the maximal part of a broken one.
  bool valid;
};

// The first byte decides how many follow and, against overlong forms, surrogates and numbers past
// U+10FFFF, in which range the second byte lies (Unicode 15, table 3-7).
struct Lead {
  size_t length;
  uint8_t second_low, second_high;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0x80, 0xBF};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// `text` is not empty.
Sequence FirstSequence(std::string_view text) {
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  if (lead.length == 0) return {1, false};
  for (size_t i = 1; i < lead.length; ++i) {
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (i == text.size()) return {i, false};
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < low || byte > high) return {i, false};
  }
  return {lead.length, true};
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    if (static_cast<uint8_t>(text[done]) < 0x80) {
      ++done;
      continue;
    }
    const Sequence sequence = FirstSequence(text.substr(done));
    if (!sequence.valid) break;
    done += sequence.length;
  }
  return done;
}

std::string_view ValidText(std::string_view text, std::string* buffer) {
  // What lies beyond the longest text is never looked at, however long it is.
  const std::string_view head = text.substr(0, kMaxTextBytes + kEllipsis.size());
  if (head.size() <= kMaxTextBytes && ValidUtf8Prefix(head) == head.size()) return text;

  buffer->clear();
  size_t fits = 0;  // Bytes of *buffer after which the ellipsis still has room.
  for (std::string_view rest = head; !rest.empty();) {
    const Sequence sequence = FirstSequence(rest);
    *buffer += sequence.valid ? rest.substr(0, sequence.length) : kReplacement;
    rest.remove_prefix(sequence.length);
    if (buffer->size() <= kMaxTextBytes - kEllipsis.size()) fits = buffer->size();
    if (buffer->size() <= kMaxTextBytes) continue;
    buffer->resize(fits);
    *buffer += kEllipsis;
    break;
  }
  return *buffer;
}

}  // namespace stackray
