// Which function is an interpreter's loop, without symbols: a loop with an entry for each
// instruction has the table of their addresses in the file, a row of many pointers that lead into
// the same function.
// Input:   a foreign file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_JUMP_TARGET_H_
#define STACKRAY_INTERPRETERS_JUMP_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "interpreters/function_starts.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// The function that the longest row of words in the file leads into, of `fewest` words at least.
std::optional<FunctionSpan> FindJumpTarget(const ElfImage& image, const ByteSource& source,
                                           const FunctionStarts& functions, size_t fewest);

// FindJumpTarget() takes these words too: address and word in the order of the file; a row is what
// lies without a gap.
struct PlacedWord {
  uint64_t place = 0, value = 0;
};
std::optional<FunctionSpan> FindJumpTarget(std::span<const PlacedWord> words,
                                           const FunctionStarts& functions, size_t fewest);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JUMP_TARGET_H_
