// Rows of entries whose pointers count from .text (DW_EH_PE_textrel), as LuaJIT's do.
// Input, memory, threads: as ReadCodeRows().
#ifndef STACKRAY_SYMBOLIZER_CFI_TEXT_ROWS_H_
#define STACKRAY_SYMBOLIZER_CFI_TEXT_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolizer/cfi/code_rows.h"

namespace stackray::cfi {

// As ReadCodeRows(), which leaves such entries out. `text_address`: nullopt where it is unknown.
std::vector<CodeRows> ReadRowsOfText(const EntryBytes& entries,
                                     std::optional<uint64_t> text_address, const Machine& machine,
                                     std::span<const AddressRange> code);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_TEXT_ROWS_H_
