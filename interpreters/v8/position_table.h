// Source position tables (src/codegen/source-position-table.cc), the bytecode offset tables of
// baseline code (src/baseline/bytecode-offset-iterator.h) and the safepoint tables of optimized
// code (src/codegen/safepoint-table.h).
//
// Input:   bytes of a foreign heap, so nothing in them is trusted: a table ends where it makes no
//          sense any more.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_POSITION_TABLE_H_
#define STACKRAY_INTERPRETERS_V8_POSITION_TABLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "interpreters/v8/layout.h"

namespace stackray::v8 {

inline constexpr size_t kMostPositions = 1 << 18;

// A place in a script, in a function that may be an inlined one.
struct SourcePosition {
  int32_t script_offset = -1;  // In characters; -1: not known.
  int32_t inlined = -1;        // Index of the inlining it belongs to; -1: the code's own function.

  // From the 64 bits that V8 has for one.
  static SourcePosition Of(uint64_t raw);
};

struct PositionEntry {
  int32_t code_offset = 0;  // Of bytecode or machine code, from here on; -1: the function's entry.
  SourcePosition position;
};

// All entries that make sense, in ascending order.
std::vector<PositionEntry> ReadPositions(std::span<const uint8_t> table, PositionEncoding encoding);

// The last entry that begins at or before this byte; nullptr: none does.
const PositionEntry* FindPosition(std::span<const PositionEntry> entries, int32_t code_offset);

// The bytecode whose baseline code holds this byte, as an offset; nullopt: none; -1: the prologue.
std::optional<int32_t> BytecodeOfBaseline(std::span<const uint8_t> offset_table,
                                          std::span<const uint8_t> bytecodes,
                                          const V8Layout& layout, uint32_t code_offset);

// Of a table of safepoints by its header; 0: it makes no sense, or it is larger than this.
inline constexpr size_t kMostSafepointBytes = 4 << 20;
size_t BytesOfSafepoints(std::span<const uint8_t> header, const SafepointForm& form);

// Where the call was to return to that returns to `address` now: V8 replaces return addresses by
// those of exits in code that is given up. nullopt: no call of the table returns there.
std::optional<uint32_t> PlannedReturn(std::span<const uint8_t> table, const SafepointForm& form,
                                      uint32_t address);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_POSITION_TABLE_H_
