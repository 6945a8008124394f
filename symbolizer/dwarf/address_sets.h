// .debug_aranges: which code each unit has, as a table of its own (DWARF 2 §6.1.2, unchanged
// since). Compilers may leave it out, and DW_AT_ranges says the same, so it is read for units only
// that cannot have that attribute. Input: hostile; bounded by the work budget. What was read before
// damage counts.
#ifndef STACKRAY_SYMBOLIZER_DWARF_ADDRESS_SETS_H_
#define STACKRAY_SYMBOLIZER_DWARF_ADDRESS_SETS_H_

#include <functional>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

// Calls visit(offset of the unit in .debug_info, range) for each range, also of units that are
// nowhere.
void ReadAddressSets(const SectionPart& aranges, WorkBudget& budget,
                     const std::function<void(uint64_t, const AddressRange&)>& visit);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_ADDRESS_SETS_H_
