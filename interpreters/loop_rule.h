// How the body of a runtime's loop is left: the unwind rule that most of its code has.
#ifndef STACKRAY_INTERPRETERS_LOOP_RULE_H_
#define STACKRAY_INTERPRETERS_LOOP_RULE_H_

#include <cstdint>
#include <optional>

#include "interpreters/runtime.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// The code (bpf/shared/unwind_table.h, base CODE_BASE_RSP or CODE_BASE_RBP) that holds for more of
// the loop's bytes than any other. nullopt: the loop has no unwind table, is larger than 1 MiB, or
// is left by a rule that is longer than a code.
std::optional<uint16_t> LoopRule(const ElfImage& image, const ByteSource& source,
                                 const FileRange& loop);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_LOOP_RULE_H_
