#include "interpreters/v8/strings.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "interpreters/utf8.h"

namespace stackray::v8 {
namespace {

// The low bits of a string's instance type, and its fields: v8dbg_*Tag, *EncodingMask and
// v8dbg_class_*String__*, the same in V8 8.4 to 15.0.
constexpr uint16_t kShapeMask = 7, kOneByte = 8, kUncached = 16;
enum Shape : uint16_t { kSequential = 0, kCons = 1, kExternal = 2, kSliced = 3, kThin = 5 };
constexpr uint16_t kLength = 12, kFirst = 16, kSecond = 24, kCharacters = 16, kExternalData = 24;
constexpr uint32_t kMostLength = 1 << 30;

struct Pending {
  uint64_t string = 0;
  uint32_t begin = 0, count = 0;
};

std::string Utf8(std::span<const uint16_t> units) {
  constexpr uint32_t kReplacement = 0xfffd;
  std::string text;
  for (size_t i = 0; i < units.size(); ++i) {
    const uint32_t unit = units[i];
    if (unit < 0xd800 || unit > 0xdfff) {
      AppendUtf8(unit, &text);
    } else if (unit < 0xdc00 && i + 1 < units.size() && units[i + 1] >= 0xdc00 &&
               units[i + 1] <= 0xdfff) {
      AppendUtf8(0x10000 + ((unit - 0xd800) << 10) + (units[++i] - 0xdc00U), &text);
    } else {
      AppendUtf8(kReplacement, &text);
    }
  }
  return text;
}

// Splits a string made of two: what of the range lies in each.
void PushHalves(Heap& heap, const Pending& at, std::vector<Pending>* pending) {
  const uint64_t first = heap.Word(at.string, kFirst), second = heap.Word(at.string, kSecond);
  const uint32_t border = LengthOf(heap, first);
  const uint32_t end = at.begin + at.count;
  if (end > border) {
    const uint32_t begin = std::max(at.begin, border);
    pending->push_back({second, begin - border, end - begin});
  }
  if (at.begin < border) pending->push_back({first, at.begin, std::min(end, border) - at.begin});
}

}  // namespace

uint32_t LengthOf(Heap& heap, uint64_t string) {
  if (!heap.IsString(string)) return 0;
  return std::min(heap.Number<uint32_t>(string, kLength), kMostLength);
}

std::optional<std::vector<StringPart>> PartsOf(Heap& heap, uint64_t string, uint32_t most) {
  if (!heap.IsString(string)) return std::nullopt;
  std::vector<StringPart> parts;
  std::vector<Pending> pending = {{string, 0, std::min(LengthOf(heap, string), most)}};
  for (size_t steps = 0; !pending.empty(); ++steps) {
    const Pending at = pending.back();
    pending.pop_back();
    if (at.count == 0) continue;
    const uint16_t type = heap.TypeOf(at.string);
    const uint32_t length = LengthOf(heap, at.string);
    if (steps > kMostStringParts || type >= heap.layout().first_nonstring_type ||
        at.begin > length || at.count > length - at.begin)
      return std::nullopt;
    const bool is_one_byte = (type & kOneByte) != 0;
    const uint64_t skipped = is_one_byte ? at.begin : uint64_t{2} * at.begin;
    switch (type & kShapeMask) {
      case kSequential:
        parts.push_back({at.string - 1 + kCharacters + skipped, at.count, is_one_byte});
        break;
      case kExternal: {
        const uint64_t data = heap.Word(at.string, kExternalData);
        if ((type & kUncached) != 0 || data == 0) return std::nullopt;
        parts.push_back({data + skipped, at.count, is_one_byte});
        break;
      }
      case kSliced: {
        const std::optional<int32_t> offset = heap.Smi(at.string, kSecond);
        if (!offset || *offset < 0) return std::nullopt;
        pending.push_back(
            {heap.Word(at.string, kFirst), at.begin + static_cast<uint32_t>(*offset), at.count});
        break;
      }
      case kThin: pending.push_back({heap.Word(at.string, kFirst), at.begin, at.count}); break;
      case kCons: PushHalves(heap, at, &pending); break;
      default: return std::nullopt;
    }
  }
  return parts;
}

std::optional<std::string> ReadString(Heap& heap, uint64_t string, uint32_t most) {
  const std::optional<std::vector<StringPart>> parts = PartsOf(heap, string, most);
  if (!parts) return std::nullopt;
  std::vector<uint16_t> units;
  for (const StringPart& part : *parts) {
    std::vector<uint8_t> bytes(part.is_one_byte ? part.count : size_t{2} * part.count);
    if (!heap.pages().Read(part.address, bytes)) return std::nullopt;
    for (uint32_t i = 0; i < part.count; ++i)
      units.push_back(part.is_one_byte ? bytes[i] : NumberAt<uint16_t>(bytes, size_t{2} * i));
  }
  return Utf8(units);
}

}  // namespace stackray::v8
