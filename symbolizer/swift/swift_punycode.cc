#include "symbolizer/swift/swift_punycode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stackray::swift {
namespace {

constexpr uint32_t kBase = 36, kLow = 1, kHigh = 26, kSkew = 38, kDamp = 700, kFirstBias = 72;

int Digit(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

uint32_t NewBias(uint64_t delta, uint64_t points, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / points;
  uint32_t k = 0;
  for (; delta > ((kBase - kLow) * kHigh) / 2; k += kBase) delta /= kBase - kLow;
  return static_cast<uint32_t>(k + (kBase - kLow + 1) * delta / (delta + kSkew));
}

// A code point; Swift maps what no identifier may hold to U+D800 and up: that is ASCII again.
bool AppendUtf8(uint32_t point, std::string* text) {
  if (point >= 0xd800 && point < 0xd880) point -= 0xd800;
  if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  const auto tail = [&](unsigned shift) {
    *text += static_cast<char>(0x80 | ((point >> shift) & 0x3f));
  };
  if (point < 0x80) {
    *text += static_cast<char>(point);
  } else if (point < 0x800) {
    *text += static_cast<char>(0xc0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    *text += static_cast<char>(0xe0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    *text += static_cast<char>(0xf0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

}  // namespace

bool DecodePunycode(std::string_view encoded, std::string* text) {
  constexpr size_t kMaxEncoded = 1024;  // Each insertion moves what follows it.
  constexpr uint64_t kMaxValue = 1ull << 40;
  if (encoded.size() > kMaxEncoded) return false;
  std::vector<uint32_t> points;
  const size_t delimiter = encoded.rfind('_');
  if (delimiter != std::string_view::npos) {
    for (const char c : encoded.substr(0, delimiter)) {
      if (static_cast<unsigned char>(c) >= 0x80) return false;
      points.push_back(static_cast<uint32_t>(c));
    }
    encoded.remove_prefix(delimiter + 1);
  }
  uint64_t point = 0x80, at = 0;
  uint32_t bias = kFirstBias;
  for (size_t i = 0; i < encoded.size();) {
    const uint64_t before = at;
    uint64_t weight = 1;
    for (uint32_t k = kBase;; k += kBase) {
      const int digit = i < encoded.size() ? Digit(encoded[i++]) : -1;
      if (digit < 0 || weight > kMaxValue) return false;
      at += static_cast<uint64_t>(digit) * weight;
      const uint32_t threshold = k <= bias ? kLow : std::min(k - bias, kHigh);
      if (static_cast<uint32_t>(digit) < threshold) break;
      weight *= kBase - threshold;
    }
    const uint64_t count = points.size() + 1;
    bias = NewBias(at - before, count, before == 0);
    point += at / count;
    if (point > 0x10ffff) return false;
    at %= count;
    points.insert(points.begin() + static_cast<ptrdiff_t>(at), static_cast<uint32_t>(point));
    ++at;
  }
  return std::all_of(points.begin(), points.end(),
                     [&](uint32_t each) { return AppendUtf8(each, text); });
}

}  // namespace stackray::swift
