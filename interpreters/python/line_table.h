// From an instruction of a code object to its source line.
//
// Three formats (Objects/lnotab_notes.txt of 3.6 to 3.10, Objects/locations.md from 3.11 on):
//   kLnotab     to 3.9: pairs of bytes, so many instruction bytes further, so many lines further
//   (signed)
//   kRanges     3.10: pairs of bytes, a range of so many bytes, its line relative to the last one
//               (signed; -128: no line)
//   kLocations  from 3.11 on: entries of one to some bytes, each for 1 to 8 instruction units
// Input:   bytes of a foreign process, so nothing in them is trusted; work is bounded by their
// number. Threads: a function without state.
#ifndef STACKRAY_INTERPRETERS_PYTHON_LINE_TABLE_H_
#define STACKRAY_INTERPRETERS_PYTHON_LINE_TABLE_H_

#include <cstdint>
#include <span>

namespace stackray {

enum class LineTableFormat { kLnotab, kRanges, kLocations };

// The line of the instruction at byte `offset`; `first_line` for a negative one (nothing has run
// yet); 0 where the table says that there is none, or nothing.
int64_t PythonLine(LineTableFormat format, std::span<const uint8_t> table, int64_t first_line,
                   int64_t offset);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_LINE_TABLE_H_
