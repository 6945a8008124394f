// Which entry of a unit is the function at an address, and which inlined calls lie there.
// Input:   hostile; one pass over the unit's entries, bounded by the work budget.
// Memory:  24 bytes a range of a function, at most kMaxFunctions.
// Threads: immutable after Read().
#ifndef STACKRAY_SYMBOLIZER_DWARF_UNIT_FUNCTIONS_H_
#define STACKRAY_SYMBOLIZER_DWARF_UNIT_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

class UnitFunctions {
 public:
  static constexpr size_t kMaxFunctions = 1 << 20;
  static UnitFunctions Read(const Unit& unit, WorkBudget& budget);
  // Offset in .debug_info of the entry of the narrowest function at the address.
  std::optional<uint64_t> Find(uint64_t address) const;
  size_t bytes() const { return sizeof(*this) + functions_.capacity() * sizeof(Function); }

 private:
  struct Function {
    uint64_t begin, end, entry;
  };
  // Of a function in two sections DWARF 2 names the first piece; calls inlined into the other one
  // are among its entries.
  void AddCallsElsewhere(const Unit& unit, WorkBudget& budget);

  std::vector<Function> functions_;  // By begin, wider ones before narrower ones.
};

// One inlined call.
struct InlinedCall {
  FormValue origin;  // The function that was inlined.
  uint64_t call_file = 0, call_line = 0, call_column = 0;
};

// The inlined calls at `address` within the function whose entry is at `function`, outermost first.
// Deeper ones than kMaxInlineDepth, which no compiler writes, are left out.
inline constexpr size_t kMaxInlineDepth = 4096;
std::vector<InlinedCall> InlinedCallsAt(const Unit& unit, uint64_t function, uint64_t address,
                                        WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_UNIT_FUNCTIONS_H_
