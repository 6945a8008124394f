// Unwind rows of arm64 functions from their instructions, for code whose rules were thrown away
// (the vDSO).
//
// From a function's first instruction on, every path is followed: what moves sp, and what saves and
// restores x29 and x30, is known by its encoding; all else leaves them alone. That holds for what
// compilers write; not for code that computes sp. Encodings: Arm Architecture Reference Manual for
// A-profile, chapter C6.
// Input:   any bytes.
// Memory:  4 bytes and a flag for each instruction of the piece.
#ifndef STACKRAY_SYMBOLIZER_CFI_ARM64_SCAN_H_
#define STACKRAY_SYMBOLIZER_CFI_ARM64_SCAN_H_

#include <cstdint>
#include <span>

#include "symbolizer/cfi/page_encode.h"

namespace stackray::cfi {

struct TextPiece;

// `text`: the piece's bytes; `functions`: ELF addresses, those outside of the piece are left out.
// Only where `rows` has no rule yet.
void ScanArm64Functions(const TextPiece& piece, std::span<const uint8_t> text,
                        std::span<const uint64_t> functions, PageRows* rows);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_ARM64_SCAN_H_
