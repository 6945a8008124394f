// The head of one line table: how its program is to be read, and the files it speaks of (DWARF 5
// §6.2.4).
// Input:   hostile. Bounded by kMaxFiles and the work budget.
// Memory:  24 bytes a file and a directory; their names stay in the file.
#ifndef STACKRAY_SYMBOLIZER_DWARF_LINE_HEADER_H_
#define STACKRAY_SYMBOLIZER_DWARF_LINE_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

struct LineHeader {
  static constexpr size_t kMaxFiles = 1 << 16;

  struct Name {
    FormValue text;  // kInlineString counts in .debug_line here.
    uint64_t directory = 0;
  };

  UnitFormat format;
  uint8_t minimum_instruction_bytes = 1, line_range = 1, opcode_base = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> opcode_arguments;  // Of opcode 1, 2, ….
  uint64_t program = 0, end = 0;          // In .debug_line.
  std::vector<Name> directories, files;

  // The table that begins at `offset` of the unit's .debug_line. nullopt: damaged or not known.
  static std::optional<LineHeader> Read(const Unit& unit, uint64_t offset, WorkBudget& budget);
  size_t bytes() const;
};

// The path of file `number` of the table, from the root where the table and the unit say so; ""
// where there is no such file. Paths are as the compiler wrote them: nothing is made shorter.
std::string PathOfFile(const LineHeader& header, const Unit& unit, uint64_t number,
                       WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_LINE_HEADER_H_
