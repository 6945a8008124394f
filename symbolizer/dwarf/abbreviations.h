// One table of .debug_abbrev: what the entries of a unit look like (DWARF 5 §7.5.3).
// Input:   hostile: codes may be anything, tables endless. Bounded by kMaxAbbreviations,
//          kMaxAttributes and the work budget; what is over a bound ends the table.
// Memory:  24 bytes a declaration, 16 bytes an attribute.
// Threads: immutable after Read().
#ifndef STACKRAY_SYMBOLIZER_DWARF_ABBREVIATIONS_H_
#define STACKRAY_SYMBOLIZER_DWARF_ABBREVIATIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "symbolizer/dwarf/form_value.h"
#include "symbolizer/dwarf/section_cursor.h"

namespace stackray::dwarf {

struct AttributeForm {
  uint16_t name = 0, form = 0;
  int64_t implicit = 0;  // Of DW_FORM_implicit_const.
};

struct Abbreviation {
  uint16_t tag = 0;
  bool has_children = false;
  bool says_place = false;  // Of code: it has DW_AT_low_pc or DW_AT_ranges.
  uint16_t attribute_count = 0;
  uint32_t first_attribute = 0;
  int32_t fixed_bytes = 0;  // All attributes together, or kVariable.
};

class Abbreviations {
 public:
  static constexpr size_t kMaxAbbreviations = 1 << 16;  // Real tables have some thousand at most.
  static constexpr size_t kMaxAttributes = 128;         // A declaration; real ones have 30.

  // Reads up to the end of the table, or, when `only` is not 0, up to that code.
  static Abbreviations Read(SectionCursor cursor, const UnitFormat& format, uint64_t only = 0);

  const Abbreviation* Find(uint64_t code) const;  // nullptr: not declared. Lives as long as this.
  std::span<const AttributeForm> AttributesOf(const Abbreviation& abbreviation) const {
    return std::span(attributes_)
        .subspan(abbreviation.first_attribute, abbreviation.attribute_count);
  }
  size_t bytes() const;

 private:
  void Add(uint64_t code, const Abbreviation& abbreviation);

  std::vector<Abbreviation> dense_;  // Codes 1, 2, 3, … as compilers number them.
  absl::flat_hash_map<uint64_t, Abbreviation> others_;
  std::vector<AttributeForm> attributes_;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_ABBREVIATIONS_H_
