// Pointers as .eh_frame and .eh_frame_hdr store them: a format in the low four bits, a base in the
// next three (Linux Standard Base Core, "DWARF Extensions", DW_EH_PE_*).
#ifndef STACKRAY_SYMBOLIZER_CFI_POINTER_ENCODING_H_
#define STACKRAY_SYMBOLIZER_CFI_POINTER_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "symbolizer/cfi/byte_cursor.h"

namespace stackray::cfi {

struct PointerBases {
  uint64_t field_address = 0;  // ELF address of the pointer itself, for pc-relative ones.
  uint64_t data_address = 0;   // ELF address of .eh_frame_hdr, for data-relative ones.
  // Address of .text, for text-relative ones; nullopt: unknown, as a library's.
  std::optional<uint64_t> text_address = std::nullopt;
};

// nullopt, with or without a failed cursor: the bytes end, or the encoding is one that cannot be
// resolved here (indirect, function-relative, or relative to a base that is unknown).
std::optional<uint64_t> ReadEncodedPointer(ByteCursor& cursor, uint8_t encoding,
                                           const PointerBases& bases);

// The value's format without any base, sign-extended where the format is signed.
std::optional<uint64_t> ReadEncodedFormat(ByteCursor& cursor, uint8_t encoding);

// Bytes that a pointer takes; 0 for LEB128 and for formats that do not exist.
size_t EncodedPointerBytes(uint8_t encoding);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_POINTER_ENCODING_H_
