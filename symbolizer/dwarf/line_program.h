// Runs a line program row by row.
// Input: hostile; an opcode without sense ends it.
#ifndef STACKRAY_SYMBOLIZER_DWARF_LINE_PROGRAM_H_
#define STACKRAY_SYMBOLIZER_DWARF_LINE_PROGRAM_H_

#include <cstdint>

#include "symbolizer/dwarf/line_table.h"

namespace stackray::dwarf {

class LineProgram {
 public:
  enum class Step { kRow, kEndOfSequence, kOver };

  // From `position` in .debug_line, with the registers of `row`. `header` and `budget` outlive
  // this.
  LineProgram(const Unit& unit, const LineHeader& header, const LineRow& row, uint64_t position,
              WorkBudget& budget)
      : header_(header), cursor_(unit.parts.line, budget, position), row_(row) {}

  // Runs up to the next row. After the end of a sequence the registers are as at the start.
  Step Next();
  const LineRow& row() const { return row_; }  // Of the step before, its end's address included.
  uint64_t position() const { return cursor_.position(); }

 private:
  bool RunStandard(uint8_t opcode);         // True: it made a row.
  bool RunExtended(bool* end_of_sequence);  // True: it made a row.
  void Advance(uint64_t operations) {
    row_.address += operations * header_.minimum_instruction_bytes;
  }
  void AdvanceLine(int64_t lines) { row_.line = static_cast<uint32_t>(row_.line + lines); }

  const LineHeader& header_;
  SectionCursor cursor_;
  LineRow row_;
  bool restart_ = false;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_LINE_PROGRAM_H_
