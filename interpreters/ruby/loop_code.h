// Which code of a file is Ruby's evaluation loop, without symbols: Debian's libruby has none for it
// from 3.2 on.
//
// The loop (vm_exec_core) is one function with an entry for each instruction, and the table of
// their addresses is in the file: a row of many pointers that lead into the same function. What
// enters it (vm_exec) is the larger function that calls it; the other one only asks for the table.
// Input:   a foreign file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_RUBY_LOOP_CODE_H_
#define STACKRAY_INTERPRETERS_RUBY_LOOP_CODE_H_

#include <cstddef>
#include <optional>

#include "interpreters/function_starts.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct RubyLoop {
  FunctionSpan core;                  // The loop itself.
  std::optional<FunctionSpan> entry;  // Its caller; none where it was inlined.
};

std::optional<RubyLoop> FindRubyLoop(const ElfImage& image, const ByteSource& source);

// Of the table of their addresses: 2.5 to 4.0 have 190 and more; Onigmo's matcher has 98.
inline constexpr size_t kFewestInstructions = 150;

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_LOOP_CODE_H_
