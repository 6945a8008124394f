// One unit of .debug_info: its header, the attributes of its root entry, and how its values become
// addresses, texts and ranges.
// Input:   hostile. What is damaged is absent.
// Memory:  the abbreviations and some hundred bytes.
// Threads: immutable once open; readers have cursors of their own.
#ifndef STACKRAY_SYMBOLIZER_DWARF_UNIT_H_
#define STACKRAY_SYMBOLIZER_DWARF_UNIT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolizer/dwarf/abbreviations.h"
#include "symbolizer/dwarf/constants.h"
#include "symbolizer/dwarf/debug_sections.h"
#include "symbolizer/dwarf/form_value.h"
#include "symbolizer/dwarf/section_cursor.h"

namespace stackray::dwarf {

inline constexpr size_t kMaxTextBytes = 16 << 10;  // Of a name or a path.

struct UnitHeader {
  uint64_t offset = 0, end = 0, first_entry = 0;  // In .debug_info.
  uint64_t abbrev_offset = 0;
  uint64_t dwo_id = 0;  // DWARF 5's skeleton and split units; older ones have it in the root entry.
  UnitFormat format;
  uint8_t type = kUnitCompile;
};

// Reads the header at the cursor. nullopt: damaged, or a version other than 2 to 5. `*next` is
// where the next unit begins, also of a unit that is not understood; 0: nobody knows.
std::optional<UnitHeader> ReadUnitHeader(SectionCursor& cursor, uint64_t* next);

struct AddressRange {
  uint64_t begin = 0, end = 0;  // [begin, end)
};

// What the root entry says.
struct UnitRoot {
  uint16_t tag = 0;
  bool has_children = false;
  FormValue low_pc, high_pc, ranges, name, comp_dir, dwo_name;
  std::optional<uint64_t> stmt_list, dwo_id;
};

struct Unit {
  SectionParts parts;  // What this unit's offsets are offsets into.
  UnitHeader header;
  std::shared_ptr<const Abbreviations> abbreviations;
  UnitRoot root;
  uint64_t base_address = 0;  // DW_AT_low_pc of the unit.
  uint64_t addr_base = 0, str_offsets_base = 0, rnglists_base = 0;
  uint64_t ranges_base =
      0;  // Of GNU's split units: what their offsets into .debug_ranges count from.
  bool is_split = false;
  std::string comp_dir;
};

// The root entry and the bases; the abbreviations are the caller's. `skeleton` is what a split unit
// inherits from, else nullptr.
Unit OpenUnit(const SectionParts& parts, const UnitHeader& header,
              std::shared_ptr<const Abbreviations> abbreviations, const Unit* skeleton,
              WorkBudget& budget);

// nullopt: not an address, or not in the file.
std::optional<uint64_t> AddressOf(const Unit& unit, const FormValue& value, WorkBudget& budget);

// Where a text is. Texts of the alternate file are the caller's: it has that file.
struct TextPlace {
  SectionPart part;
  uint64_t offset = 0;
  bool in_alternate = false;
};
std::optional<TextPlace> TextPlaceOf(const Unit& unit, const FormValue& value, WorkBudget& budget);
std::string ReadText(const TextPlace& place, WorkBudget& budget);

// DWARF 2 cannot say that code lies in several pieces. Compilers that keep to it name the first
// piece: of a unit, whose others are in .debug_aranges alone, and of an inlined call, whose others
// are said by the calls in it at most.
inline bool SaysFirstPieceOnly(const Unit& unit) {
  return unit.header.format.version == 2 && unit.root.ranges.kind == ValueKind::kNone;
}

// Of an entry with low_pc and high_pc, or with ranges. At most 65,536; empty ones are left out.
std::vector<AddressRange> RangesOf(const Unit& unit, const FormValue& low_pc,
                                   const FormValue& high_pc, const FormValue& ranges,
                                   WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_UNIT_H_
