#include "reporter/page/page_keys.h"

#include <algorithm>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr uint64_t kLargestKey = (uint64_t{1} << 53) - 1;

// f(unit) for each UTF-16 unit, as browsers count text.
template <typename F>
void EachUnit(std::string_view text, F&& f) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t point = length == 1 ? first : first & (0x7fu >> length);
    for (size_t k = 1; k < length && i + k < text.size(); ++k)
      point = point << 6 | (static_cast<uint8_t>(text[i + k]) & 0x3fu);
    i += length;
    if (point < 0x10000) {
      f(point);
    } else {
      f(0xd800 + ((point - 0x10000) >> 10));
      f(0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }
}

// Without ":LINE" or ":LINE:COLUMN" at its end.
std::string_view WithoutLine(std::string_view file) {
  for (int i = 0; i < 2; ++i) {
    const size_t last = file.find_last_not_of("0123456789");
    if (last == file.npos || last + 1 == file.size() || file[last] != ':') break;
    file = file.substr(0, last);
  }
  return file;
}

}  // namespace

uint64_t MixKey(std::string_view text, uint64_t before) {
  uint32_t low = 0x9e3779b1u ^ static_cast<uint32_t>(before);
  uint32_t high = 0x85ebca77u ^ static_cast<uint32_t>(before >> 32);
  EachUnit(text, [&](uint32_t unit) {
    low = (low ^ unit) * 0x01000193u;
    high = (high ^ unit) * 0x5bd1e995u;
    high ^= high >> 13;
  });
  return uint64_t{(high ^ (low >> 15)) & 0x1fffffu} << 32 | low;
}

std::string KeyText(uint64_t key) {
  std::string text;
  do {
    text.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[key % 36]);
    key /= 36;
  } while (key != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

uint64_t ReadKey(std::string_view text) {
  uint64_t key = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'z';
    if (!digit && !letter) return 0;
    key = key * 36 + static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
    if (key > kLargestKey) return 0;
  }
  return key;
}

std::string PageTypeText(const PageTables& tables, const PageFunction& function) {
  return Concat(tables.strings[function.type], function.inlined != 0 ? "+inline" : "");
}

std::string PageNameText(const PageTables& tables, const PageFunction& function) {
  return function.name == 0 ? "[no name]" : std::string(tables.strings[function.name]);
}

uint64_t FunctionKey(const PageTables& tables, const PageFunction& function) {
  return MixKey(Concat(PageTypeText(tables, function), " ", PageNameText(tables, function), " ",
                       WithoutLine(tables.strings[function.file])),
                0);
}

uint64_t GroupKey(std::string_view label) { return MixKey(Concat("group ", label), 0); }

}  // namespace stackray
