#include "symbolizer/dwarf/range_lists.h"

#include <optional>

namespace stackray::dwarf {
namespace {

constexpr size_t kMaxRanges = 65536;

enum RangeEntry : uint8_t {  // DW_RLE_*
  kEndOfList = 0,
  kBaseAddressx = 1,
  kStartxEndx = 2,
  kStartxLength = 3,
  kOffsetPair = 4,
  kBaseAddress = 5,
  kStartEnd = 6,
  kStartLength = 7,
};

void Append(uint64_t begin, uint64_t end, std::vector<AddressRange>* ranges) {
  if (begin < end) ranges->push_back({begin, end});
}

std::vector<AddressRange> ReadOldList(const Unit& unit, uint64_t offset, WorkBudget& budget) {
  std::vector<AddressRange> ranges;
  const unsigned bytes = unit.header.format.address_bytes;
  const uint64_t largest = bytes == 8 ? UINT64_MAX : UINT32_MAX;
  uint64_t base = unit.base_address;
  SectionCursor cursor(unit.parts.ranges, budget, offset);
  while (ranges.size() < kMaxRanges && budget.Spend(1)) {
    const uint64_t begin = cursor.ReadSized(bytes), end = cursor.ReadSized(bytes);
    if (!cursor.ok() || (begin == 0 && end == 0)) break;
    if (begin == largest) {
      base = end;
    } else {
      Append(base + begin, base + end, &ranges);
    }
  }
  return ranges;
}

std::vector<AddressRange> ReadNewList(const Unit& unit, uint64_t offset, WorkBudget& budget) {
  std::vector<AddressRange> ranges;
  const unsigned bytes = unit.header.format.address_bytes;
  uint64_t base = unit.base_address;
  SectionCursor cursor(unit.parts.rnglists, budget, offset);
  const auto indexed = [&] {
    return AddressOf(unit, {ValueKind::kAddressIndex, cursor.ReadUleb()}, budget).value_or(0);
  };
  while (ranges.size() < kMaxRanges && budget.Spend(1)) {
    const auto kind = cursor.Read<uint8_t>();
    if (!cursor.ok()) break;
    uint64_t begin = 0;
    switch (kind) {
      case kEndOfList: return ranges;
      case kBaseAddressx: base = indexed(); break;
      case kBaseAddress: base = cursor.ReadSized(bytes); break;
      case kStartxEndx:
        begin = indexed();
        Append(begin, indexed(), &ranges);
        break;
      case kStartxLength:
        begin = indexed();
        Append(begin, begin + cursor.ReadUleb(), &ranges);
        break;
      case kOffsetPair:
        begin = cursor.ReadUleb();
        Append(base + begin, base + cursor.ReadUleb(), &ranges);
        break;
      case kStartEnd:
        begin = cursor.ReadSized(bytes);
        Append(begin, cursor.ReadSized(bytes), &ranges);
        break;
      case kStartLength:
        begin = cursor.ReadSized(bytes);
        Append(begin, begin + cursor.ReadUleb(), &ranges);
        break;
      default: return ranges;
    }
  }
  return ranges;
}

// An index is one into the offsets behind the section's header, and they count from there too.
std::optional<uint64_t> OffsetOfIndex(const Unit& unit, uint64_t index, WorkBudget& budget) {
  if (index > unit.parts.rnglists.size_bytes) return std::nullopt;
  const unsigned bytes = unit.header.format.offset_bytes;
  SectionCursor cursor(unit.parts.rnglists, budget, unit.rnglists_base + index * bytes);
  const uint64_t offset = cursor.ReadSized(bytes);
  if (!cursor.ok()) return std::nullopt;
  return unit.rnglists_base + offset;
}

}  // namespace

std::vector<AddressRange> ReadRangeList(const Unit& unit, const FormValue& value,
                                        WorkBudget& budget) {
  if (value.kind == ValueKind::kRangesIndex) {
    const std::optional<uint64_t> offset = OffsetOfIndex(unit, value.number, budget);
    return offset ? ReadNewList(unit, *offset, budget) : std::vector<AddressRange>();
  }
  if (value.kind != ValueKind::kSectionOffset && value.kind != ValueKind::kConstant) return {};
  if (unit.header.format.version >= 5) return ReadNewList(unit, value.number, budget);
  const uint64_t base = unit.is_split ? unit.ranges_base : 0;
  return ReadOldList(unit, base + value.number, budget);
}

}  // namespace stackray::dwarf
