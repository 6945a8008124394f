#include "symbolizer/dwarf/unit.h"

#include <utility>

#include "symbolizer/dwarf/entry_reader.h"
#include "symbolizer/dwarf/range_lists.h"

namespace stackray::dwarf {
namespace {

bool HasId(uint8_t type) { return type == kUnitSkeleton || type == kUnitSplitCompile; }
bool HasSignature(uint8_t type) { return type == kUnitType || type == kUnitSplitType; }

// Sections of DWARF 5 with offsets begin with a header; a split unit, which has no attribute for
// it, starts behind that.
uint64_t HeaderBytes(const UnitFormat& format, unsigned narrow, unsigned wide) {
  return format.offset_bytes == 8 ? wide : narrow;
}

void TakeRootAttribute(Unit& unit, uint16_t name, const FormValue& value) {
  UnitRoot& root = unit.root;
  switch (name) {
    case kAtName: root.name = value; break;
    case kAtCompDir: root.comp_dir = value; break;
    case kAtLowPc: root.low_pc = value; break;
    case kAtHighPc: root.high_pc = value; break;
    case kAtRanges: root.ranges = value; break;
    case kAtStmtList: root.stmt_list = value.number; break;
    case kAtGnuDwoName:
    case kAtDwoName: root.dwo_name = value; break;
    case kAtGnuDwoId: root.dwo_id = value.number; break;
    case kAtStrOffsetsBase: unit.str_offsets_base = value.number; break;
    case kAtGnuAddrBase:
    case kAtAddrBase: unit.addr_base = value.number; break;
    case kAtRnglistsBase: unit.rnglists_base = value.number; break;
    case kAtGnuRangesBase: unit.ranges_base = value.number; break;
    default: break;
  }
}

void InheritFrom(const Unit& skeleton, Unit& unit) {
  unit.is_split = true;
  unit.parts.addr = skeleton.parts.addr;
  unit.parts.line = skeleton.parts.line;
  unit.parts.ranges = skeleton.parts.ranges;
  unit.parts.line_str = skeleton.parts.line_str;
  unit.base_address = skeleton.base_address;
  unit.addr_base = skeleton.addr_base;
  unit.ranges_base = skeleton.ranges_base;
  if (unit.header.format.version >= 5) {
    unit.str_offsets_base = HeaderBytes(unit.header.format, 8, 16);
    unit.rnglists_base = HeaderBytes(unit.header.format, 12, 20);
  }
}

}  // namespace

std::optional<UnitHeader> ReadUnitHeader(SectionCursor& cursor, uint64_t* next) {
  *next = 0;
  UnitHeader header;
  header.offset = cursor.position();
  const uint64_t length = cursor.ReadInitialLength(&header.format.offset_bytes);
  if (!cursor.ok() || length > UINT64_MAX - cursor.position()) return std::nullopt;
  header.end = *next = cursor.position() + length;
  header.format.version = cursor.Read<uint16_t>();
  if (header.format.version < 2 || header.format.version > 5) return std::nullopt;
  if (header.format.version >= 5) {
    header.type = cursor.Read<uint8_t>();
    header.format.address_bytes = cursor.Read<uint8_t>();
    header.abbrev_offset = cursor.ReadSized(header.format.offset_bytes);
    if (HasId(header.type)) header.dwo_id = cursor.Read<uint64_t>();
    if (HasSignature(header.type)) cursor.Skip(8u + header.format.offset_bytes);
  } else {
    header.abbrev_offset = cursor.ReadSized(header.format.offset_bytes);
    header.format.address_bytes = cursor.Read<uint8_t>();
  }
  header.first_entry = cursor.position();
  const bool good = cursor.ok() && header.first_entry <= header.end &&
                    (header.format.address_bytes == 4 || header.format.address_bytes == 8);
  return good ? std::optional(header) : std::nullopt;
}

Unit OpenUnit(const SectionParts& parts, const UnitHeader& header,
              std::shared_ptr<const Abbreviations> abbreviations, const Unit* skeleton,
              WorkBudget& budget) {
  Unit unit;
  unit.parts = parts;
  unit.header = header;
  unit.abbreviations = std::move(abbreviations);
  if (skeleton != nullptr) InheritFrom(*skeleton, unit);
  EntryReader reader(unit, budget);
  reader.Seek(header.first_entry);
  const Abbreviation* entry = reader.Next();
  if (entry == nullptr) return unit;
  unit.root.tag = entry->tag;
  unit.root.has_children = entry->has_children;
  reader.ReadAttributes(
      [&](uint16_t name, const FormValue& value) { TakeRootAttribute(unit, name, value); });
  if (const std::optional<uint64_t> low = AddressOf(unit, unit.root.low_pc, budget))
    unit.base_address = *low;
  if (const auto place = TextPlaceOf(unit, unit.root.comp_dir, budget))
    unit.comp_dir = ReadText(*place, budget);
  if (unit.comp_dir.empty() && skeleton != nullptr) unit.comp_dir = skeleton->comp_dir;
  return unit;
}

std::optional<uint64_t> AddressOf(const Unit& unit, const FormValue& value, WorkBudget& budget) {
  if (value.kind == ValueKind::kAddress) return value.number;
  if (value.kind != ValueKind::kAddressIndex) return std::nullopt;
  if (value.number > unit.parts.addr.size_bytes) return std::nullopt;  // So that nothing wraps.
  const unsigned bytes = unit.header.format.address_bytes;
  SectionCursor cursor(unit.parts.addr, budget, unit.addr_base + value.number * bytes);
  const uint64_t address = cursor.ReadSized(bytes);
  return cursor.ok() ? std::optional(address) : std::nullopt;
}

std::optional<TextPlace> TextPlaceOf(const Unit& unit, const FormValue& value, WorkBudget& budget) {
  switch (value.kind) {
    case ValueKind::kInlineString: return TextPlace{unit.parts.info, value.number};
    case ValueKind::kString: return TextPlace{unit.parts.str, value.number};
    case ValueKind::kLineString: return TextPlace{unit.parts.line_str, value.number};
    case ValueKind::kAltString: return TextPlace{{}, value.number, true};
    case ValueKind::kStringIndex: break;
    default: return std::nullopt;
  }
  if (value.number > unit.parts.str_offsets.size_bytes) return std::nullopt;
  const unsigned bytes = unit.header.format.offset_bytes;
  SectionCursor cursor(unit.parts.str_offsets, budget,
                       unit.str_offsets_base + value.number * bytes);
  const uint64_t offset = cursor.ReadSized(bytes);
  if (!cursor.ok()) return std::nullopt;
  return TextPlace{unit.parts.str, offset};
}

std::string ReadText(const TextPlace& place, WorkBudget& budget) {
  return SectionCursor(place.part, budget, place.offset).ReadString(kMaxTextBytes);
}

std::vector<AddressRange> RangesOf(const Unit& unit, const FormValue& low_pc,
                                   const FormValue& high_pc, const FormValue& ranges,
                                   WorkBudget& budget) {
  if (ranges.kind != ValueKind::kNone) return ReadRangeList(unit, ranges, budget);
  const std::optional<uint64_t> begin = AddressOf(unit, low_pc, budget);
  if (!begin || high_pc.kind == ValueKind::kNone) return {};
  AddressRange range{*begin, 0};
  if (high_pc.kind == ValueKind::kConstant) {  // From DWARF 4 on a length.
    range.end = high_pc.number > UINT64_MAX - *begin ? 0 : *begin + high_pc.number;
  } else {
    range.end = AddressOf(unit, high_pc, budget).value_or(0);
  }
  if (range.begin >= range.end) return {};
  return {range};
}

}  // namespace stackray::dwarf
