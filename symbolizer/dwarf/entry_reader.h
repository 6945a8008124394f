// Goes through the entries of one unit in the order of the file.
// Input:   hostile. An unknown abbreviation or form, the unit's end and an empty budget end the
// reading. Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_DWARF_ENTRY_READER_H_
#define STACKRAY_SYMBOLIZER_DWARF_ENTRY_READER_H_

#include <cstdint>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

class EntryReader {
 public:
  // `unit` and `budget` outlive this.
  EntryReader(const Unit& unit, WorkBudget& budget)
      : unit_(unit), budget_(budget), cursor_(unit.parts.info, budget, unit.header.first_entry) {}

  // `offset` in .debug_info.
  void Seek(uint64_t offset) {
    if (offset < unit_.header.first_entry || offset >= unit_.header.end) {
      cursor_.Fail();
    } else {
      cursor_.Seek(offset);
    }
  }

  // The entry at the cursor, or nullptr: it ends a list of children, or the reading is over (see
  // ok()). Its attributes have to be read or skipped before the next one.
  const Abbreviation* Next() {
    entry_offset_ = cursor_.position();
    if (entry_offset_ >= unit_.header.end) cursor_.Fail();
    const uint64_t code = cursor_.ReadUleb();
    entry_ = nullptr;
    if (code == 0) {
      if (!budget_.Spend(1)) cursor_.Fail();
      return nullptr;
    }
    entry_ = unit_.abbreviations->Find(code);
    if (entry_ == nullptr || !budget_.Spend(1u + entry_->attribute_count)) {
      cursor_.Fail();
      return nullptr;
    }
    return entry_;
  }
  bool ok() const { return cursor_.ok(); }
  uint64_t entry_offset() const { return entry_offset_; }  // In .debug_info.

  void SkipAttributes() {
    if (entry_->fixed_bytes != kVariable) {
      cursor_.Skip(static_cast<uint64_t>(entry_->fixed_bytes));
      return;
    }
    for (const AttributeForm& attribute : unit_.abbreviations->AttributesOf(*entry_))
      SkipForm(cursor_, attribute.form, unit_.header.format);
  }

  // Calls visit(name, value) for each attribute.
  template <typename Visit>
  void ReadAttributes(Visit visit) {
    for (const AttributeForm& attribute : unit_.abbreviations->AttributesOf(*entry_)) {
      const FormValue value =
          ReadForm(cursor_, attribute.form, attribute.implicit, unit_.header.format);
      if (!cursor_.ok()) return;
      visit(attribute.name, value);
    }
  }

 private:
  const Unit& unit_;
  WorkBudget& budget_;
  SectionCursor cursor_;
  const Abbreviation* entry_ = nullptr;
  uint64_t entry_offset_ = 0;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_ENTRY_READER_H_
