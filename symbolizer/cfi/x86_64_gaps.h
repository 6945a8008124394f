// Rows for x86-64 code that no call frame information covers (hand-written assembler, musl, code
// built without tables), from its instructions (instruction_look.h). Each of them is a guess, and
// says so.
// Input:   a foreign file's text; every read is checked.
// Cost:    nothing where a page has no gap but what aligns the next function: less than 8 bytes, or
//          less than 16 up to a multiple of
//          16. Else one read from the first gap to the last, and where that is more than padding,
//          one of the page and 32 KiB before it, 1 to 2 ms.
#ifndef STACKRAY_SYMBOLIZER_CFI_X86_64_GAPS_H_
#define STACKRAY_SYMBOLIZER_CFI_X86_64_GAPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/instruction_look.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"

namespace stackray::cfi {

// The part of a page that is one segment's, and that segment.
struct GapPiece {
  uint32_t page_begin = 0, page_end = 0;  // Offsets in the page.
  uint64_t file_offset = 0, address = 0;  // Of page_begin.
  uint64_t segment_file_begin = 0, segment_file_end = 0;
  uint64_t entry = 0;  // Where the program begins.
};

// kLargeOnly: less than 1 KiB of such code is not worth the look.
enum class GapEffort { kAll, kLargeOnly };

// The rule of a frame that has a CFA (kRsp, kRbp, kReg, kSlot), with r12's place where it is asked
// for. Not marked as a guess.
unwind_rule RuleOf(const LookedFrame& frame, bool keeps_r12);

// Gives rows to such code where `rows` has none. False: it is not worth it, nothing was done.
// Errors: Unavailable, OutOfRange (the file cannot be read any more).
absl::StatusOr<bool> FillX86Gaps(const ByteSource& source, const GapPiece& piece, GapEffort effort,
                                 RuleEncoder* encoder, PageRows* rows);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_X86_64_GAPS_H_
