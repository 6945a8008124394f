// Source lines of one unit: address → file and line, by running its line program (DWARF 5 §6.2).
//
// The rows are not kept: a large unit has hundreds of thousands. Kept is the state of the program
// at every 128th row; a question runs the program from there, which costs some microseconds.
//
// Input:   hostile; bounded by the work budget and kMaxCheckpoints.
// Memory:  32 bytes for 128 rows, 32 bytes a sequence, and the header.
// Threads: immutable after Read().
#ifndef STACKRAY_SYMBOLIZER_DWARF_LINE_TABLE_H_
#define STACKRAY_SYMBOLIZER_DWARF_LINE_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolizer/dwarf/line_header.h"

namespace stackray::dwarf {

struct LineRow {
  uint64_t address = 0;
  uint32_t file = 1, line = 1, column = 0;
};

class LineTable {
 public:
  static constexpr size_t kMaxCheckpoints = 1 << 18;

  // nullopt: the unit has none, or it is damaged from the start on.
  static std::optional<LineTable> Read(const Unit& unit, WorkBudget& budget);

  // The row in force at the address.
  std::optional<LineRow> Find(const Unit& unit, uint64_t address, WorkBudget& budget) const;
  const LineHeader& header() const { return header_; }
  size_t bytes() const;

 private:
  struct Checkpoint {
    LineRow row;
    uint64_t program;  // Behind the opcode that made the row.
  };
  struct Sequence {
    uint64_t begin, end;
    size_t first, count;  // Checkpoints.
  };
  explicit LineTable(LineHeader header) : header_(std::move(header)) {}

  LineHeader header_;
  std::vector<Checkpoint> checkpoints_;
  std::vector<Sequence> sequences_;  // By end.
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_LINE_TABLE_H_
