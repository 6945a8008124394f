// Ranges of code that is not in one piece: .debug_ranges (DWARF 3, 4) and .debug_rnglists (DWARF 5
// §7.25). Input: hostile; at most 65,536 ranges a list.
#ifndef STACKRAY_SYMBOLIZER_DWARF_RANGE_LISTS_H_
#define STACKRAY_SYMBOLIZER_DWARF_RANGE_LISTS_H_

#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

// `value` is a DW_AT_ranges. What was read before damage counts.
std::vector<AddressRange> ReadRangeList(const Unit& unit, const FormValue& value,
                                        WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_RANGE_LISTS_H_
