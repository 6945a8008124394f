// The pieces of an SFrame section as they lie in it: header, function, row. See sframe.h for the
// sources.
// Input:   bytes of a foreign file; every read is checked.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_CFI_SFRAME_ROWS_H_
#define STACKRAY_SYMBOLIZER_CFI_SFRAME_ROWS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "symbolizer/cfi/byte_cursor.h"
#include "symbolizer/cfi/cfa_state.h"

namespace stackray::cfi {

struct SframeHeader {
  static constexpr uint64_t kBytes = 28;
  const Machine* machine = nullptr;
  uint8_t version = 0;
  bool sorted = false, starts_at_field = false;
  int8_t fixed_fp_offset = 0, fixed_ra_offset = 0;  // From the CFA; 0: not fixed.
  uint64_t function_count = 0;
  // In the section.
  uint64_t functions_begin = 0, rows_begin = 0, rows_bytes = 0;

  // Of one entry of the functions' list.
  uint64_t function_bytes() const { return version == 1 ? 17 : version == 2 ? 20 : 16; }
};
// `bytes` are the section's first, kBytes of them; the lists are clipped to `section_bytes`.
// nullopt: the other byte order, another version or machine than `machine`, or lists outside of the
// section.
std::optional<SframeHeader> ParseSframeHeader(std::span<const uint8_t> bytes,
                                              uint64_t section_bytes, const Machine& machine);

struct SframeFunction {
  uint64_t begin = 0, size_bytes = 0;  // ELF address.
  uint64_t rows_begin = 0;             // In the list of rows.
  uint32_t row_count = 0;
  uint8_t address_bytes = 1;  // Of a row's begin: 1, 2, 4. 0: not known.
  bool repeats = false;       // The rows are of blocks of `block_bytes`, one after the other.
  uint8_t block_bytes = 0;
  bool is_signal_frame = false;
  bool is_flexible = false;
  bool is_outermost = false;  // The whole function has no caller.
};
// What follows the address and the size: version 1 and 2 in the list of functions, 3 before the
// rows.
bool ParseSframeAttributes(ByteCursor cursor, const SframeHeader& header, SframeFunction* function);

// One row. `state`'s expressions point into `expressions`.
struct SframeRow {
  uint64_t begin = 0;   // From the function's begin, or the block's.
  bool usable = false;  // False: a rule that is not understood.
  CfaState state;
  std::array<std::array<uint8_t, 8>, 3> expressions;  // Of CFA, return address, frame pointer.
};
constexpr uint64_t kMaxSframeRowBytes = 4 + 1 + 15 * 4;
// Reads the row at `cursor` and moves behind it. False: damaged, or the end.
bool ReadSframeRow(const SframeHeader& header, const SframeFunction& function, ByteCursor& cursor,
                   SframeRow* row);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_SFRAME_ROWS_H_
