// One attribute's value, as its form wrote it.
// Input: hostile; what is no good makes the cursor fail or gives kNone.
#ifndef STACKRAY_SYMBOLIZER_DWARF_FORM_VALUE_H_
#define STACKRAY_SYMBOLIZER_DWARF_FORM_VALUE_H_

#include <cstdint>

#include "symbolizer/dwarf/section_cursor.h"

namespace stackray::dwarf {

// What decides the size of fields in one unit.
struct UnitFormat {
  uint16_t version = 0;
  uint8_t address_bytes = 8;
  uint8_t offset_bytes = 4;  // 8 in the 64-bit format.
  friend bool operator==(const UnitFormat&, const UnitFormat&) = default;
};

enum class ValueKind : uint8_t {
  kNone,          // Blocks and what else nobody asks for.
  kConstant,      // `number`; signed ones as two's complement.
  kAddress,       // `number`.
  kAddressIndex,  // Into .debug_addr.
  kUnitOffset,    // A reference: offset from the start of the unit's header.
  kInfoOffset,    // A reference: offset in .debug_info.
  kAltOffset,     // A reference: offset in the .debug_info of the alternate file.
  kSectionOffset,
  kRangesIndex,   // Into the offsets of .debug_rnglists.
  kInlineString,  // `number`: its offset in .debug_info.
  kString,        // Offset in .debug_str.
  kLineString,    // … in .debug_line_str.
  kAltString,     // … in the alternate file's .debug_str.
  kStringIndex,   // Into .debug_str_offsets.
};

struct FormValue {
  ValueKind kind = ValueKind::kNone;
  uint64_t number = 0;
};

// Bytes that the form takes in the section, or kVariable.
inline constexpr int kVariable = -1;
int FixedFormBytes(uint16_t form, const UnitFormat& format);

// Both leave the cursor behind the value. An unknown form makes it fail, because nobody knows its
// size. `implicit` is the value that an abbreviation holds itself.
FormValue ReadForm(SectionCursor& cursor, uint16_t form, int64_t implicit,
                   const UnitFormat& format);
void SkipForm(SectionCursor& cursor, uint16_t form, const UnitFormat& format);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_FORM_VALUE_H_
