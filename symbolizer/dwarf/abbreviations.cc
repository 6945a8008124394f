#include "symbolizer/dwarf/abbreviations.h"

#include <utility>

#include "symbolizer/dwarf/constants.h"

namespace stackray::dwarf {
namespace {

constexpr size_t kMaxAllAttributes = 1 << 20;

// Numbers over 16 bits are nobody's; 0 is what this reader never asks for.
uint16_t Narrow(uint64_t value) { return value > 0xffff ? 0 : static_cast<uint16_t>(value); }

// Reads the pairs of one declaration. False: damaged, or more than the bound.
bool ReadAttributes(SectionCursor& cursor, const UnitFormat& format, Abbreviation* abbreviation,
                    std::vector<AttributeForm>* attributes) {
  abbreviation->first_attribute = static_cast<uint32_t>(attributes->size());
  for (;;) {
    const uint64_t name = cursor.ReadUleb(), form = cursor.ReadUleb();
    if (!cursor.ok()) return false;
    if (name == 0 && form == 0) return true;
    AttributeForm attribute{Narrow(name), Narrow(form)};
    if (form == kFormImplicitConst) attribute.implicit = cursor.ReadSleb();
    if (++abbreviation->attribute_count > Abbreviations::kMaxAttributes) return false;
    attributes->push_back(attribute);
    if (attribute.name == kAtLowPc || attribute.name == kAtRanges) abbreviation->says_place = true;
    const int bytes = FixedFormBytes(attribute.form, format);
    if (bytes == kVariable || abbreviation->fixed_bytes == kVariable) {
      abbreviation->fixed_bytes = kVariable;
    } else {
      abbreviation->fixed_bytes += bytes;
    }
  }
}

}  // namespace

Abbreviations Abbreviations::Read(SectionCursor cursor, const UnitFormat& format, uint64_t only) {
  Abbreviations table;
  for (size_t count = 0; count < kMaxAbbreviations && cursor.budget().Spend(1); ++count) {
    const uint64_t code = cursor.ReadUleb();
    if (code == 0 || !cursor.ok()) break;
    Abbreviation abbreviation;
    abbreviation.tag = Narrow(cursor.ReadUleb());
    abbreviation.has_children = cursor.Read<uint8_t>() != 0;
    if (only != 0 && code != only) table.attributes_.clear();
    if (!ReadAttributes(cursor, format, &abbreviation, &table.attributes_)) break;
    if (only == 0 || code == only) table.Add(code, abbreviation);
    if (code == only || table.attributes_.size() > kMaxAllAttributes) break;
  }
  return table;
}

// A code that is declared twice keeps its first meaning.
void Abbreviations::Add(uint64_t code, const Abbreviation& abbreviation) {
  if (code == dense_.size() + 1) {
    dense_.push_back(abbreviation);
  } else if (code > dense_.size()) {
    others_.try_emplace(code, abbreviation);
  }
}

const Abbreviation* Abbreviations::Find(uint64_t code) const {
  if (code - 1 < dense_.size()) return &dense_[code - 1];
  const auto found = others_.find(code);
  return found == others_.end() ? nullptr : &found->second;
}

size_t Abbreviations::bytes() const {
  return sizeof(*this) + dense_.capacity() * sizeof(Abbreviation) +
         others_.capacity() * (sizeof(Abbreviation) + 9) +
         attributes_.capacity() * sizeof(AttributeForm);
}

}  // namespace stackray::dwarf
