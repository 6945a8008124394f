#include "interpreters/python/line_table.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr int64_t kMaxLine = INT32_MAX;

int64_t Bounded(int64_t line) { return line < 1 || line > kMaxLine ? 0 : line; }

int64_t LnotabLine(std::span<const uint8_t> table, int64_t line, int64_t offset) {
  int64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

int64_t RangesLine(std::span<const uint8_t> table, int64_t line, int64_t offset) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto delta = static_cast<int8_t>(table[i + 1]);
    const bool has_line = delta != INT8_MIN;
    end += table[i];
    if (has_line) line += delta;
    if (offset < end) return has_line ? line : 0;
  }
  return 0;
}

// Numbers of six bits a byte, the lowest first; bit 6 says that more follow.
class Varints {
 public:
  Varints(std::span<const uint8_t> bytes, size_t at) : bytes_(bytes), at_(at) {}
  int64_t Signed() {
    uint64_t value = 0;
    for (uint32_t shift = 0; at_ < bytes_.size() && shift < 60; shift += 6) {
      const uint8_t byte = bytes_[at_++];
      value |= static_cast<uint64_t>(byte & 63) << shift;
      if ((byte & 64) == 0) break;
    }
    const auto magnitude = static_cast<int64_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_;
};

// First byte of an entry: bit 7 set, bits 3-6 the kind, bits 0-2 units - 1. The following bytes of
// the entry have bit 7 clear.
enum LocationKind { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15 };

int64_t LocationsLine(std::span<const uint8_t> table, int64_t line, int64_t offset) {
  int64_t end = 0;
  for (size_t i = 0; i < table.size();) {
    const int kind = table[i] >> 3 & 15;
    end += 2 * ((table[i] & 7) + 1);
    if (kind >= kOneLine0 && kind <= kOneLine2) line += kind - kOneLine0;
    if (kind == kNoColumns || kind == kLong) line += Varints(table, i + 1).Signed();
    line = std::clamp<int64_t>(line, -kMaxLine, kMaxLine);
    if (offset < end) return kind == kNone ? 0 : line;
    for (++i; i < table.size() && (table[i] & 128) == 0;) ++i;
  }
  return 0;
}

}  // namespace

int64_t PythonLine(LineTableFormat format, std::span<const uint8_t> table, int64_t first_line,
                   int64_t offset) {
  if (offset < 0) return Bounded(first_line);
  switch (format) {
    case LineTableFormat::kLnotab: return Bounded(LnotabLine(table, first_line, offset));
    case LineTableFormat::kRanges: return Bounded(RangesLine(table, first_line, offset));
    case LineTableFormat::kLocations: return Bounded(LocationsLine(table, first_line, offset));
  }
  return 0;
}

}  // namespace stackray
