// What a function's entry is called, following its abstract origin and its declaration through
// units and into the alternate file.
#ifndef STACKRAY_SYMBOLIZER_DWARF_ENTRY_NAMES_H_
#define STACKRAY_SYMBOLIZER_DWARF_ENTRY_NAMES_H_

#include <cstdint>
#include <string>

#include "symbolizer/dwarf/debug_info.h"

namespace stackray::dwarf {

// An entry in one of the files.
struct EntryPlace {
  DebugInfo* info = nullptr;  // nullptr: none.
  uint64_t offset = 0;        // In .debug_info.
};

// Where a reference of `unit` leads; `info` is that unit's. Outside of the file too.
EntryPlace FollowReference(DebugInfo& info, const Unit& unit, const FormValue& value);

struct EntryName {
  std::string linkage;  // Mangled; empty: the compiler wrote none.
  std::string plain;    // DW_AT_name.
  uint64_t declared_file = 0,
           declared_line = 0;  // 0: unknown. The file is one of `unit`'s line table.
  uint64_t unit = 0;           // Offset of the unit that declared it.
};

// At most 16 references are followed; a circle ends there.
EntryName NameOfEntry(EntryPlace place, WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_ENTRY_NAMES_H_
