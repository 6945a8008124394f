// Unwind rows of single functions, from entries of .eh_frame or .debug_frame that describe code in
// a process's memory (a JIT's). A file's rows are made page by page instead (cfi_source.h).
//
// Input:   bytes that a sampled process wrote; nothing in them is trusted.
// Memory:  what the caller allows, about 8 bytes a row and 32 a rule in full.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_CFI_CODE_ROWS_H_
#define STACKRAY_SYMBOLIZER_CFI_CODE_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "symbolizer/cfi/first_functions.h"
#include "symbolizer/cfi/machine.h"

namespace stackray::cfi {

// Of one entry: the code at [begin, end).
struct CodeRows {
  struct Row {
    uint32_t offset = 0;  // From `begin` on, up to the next row.
    u16 code = 0;         // As bpf/shared/unwind_table.h has it; a rule's index is one of `rules`.
  };
  uint64_t begin = 0, end = 0;
  std::vector<Row> rows;  // Ascending by offset; the first has offset 0.
  std::vector<unwind_rule> rules;

  bool Contains(uint64_t address) const { return address - begin < end - begin; }
  size_t bytes() const;
};

struct EntryBytes {
  std::span<const uint8_t> bytes;  // Of the section.
  uint64_t address = 0;            // Where they are in the process; 0 for .debug_frame.
  bool is_debug_frame = false;
  // Of .text, which LuaJIT's entries count from (DW_EH_PE_textrel); without it such are left out.
  std::optional<uint64_t> text_address = std::nullopt;
};

inline constexpr size_t kMaxCodeRows = 262'144;

// Of all entries whose code lies in one of `code` and is below 4 GiB. What follows a damaged entry
// is not seen; at most kMaxCodeRows rows. A row that cannot be expressed has SPECIAL_NONE.
std::vector<CodeRows> ReadCodeRows(const EntryBytes& entries, const Machine& machine,
                                   std::span<const AddressRange> code);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_CODE_ROWS_H_
