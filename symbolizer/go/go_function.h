// Reads the records of Go's function table for one question: functions, the values that hold from
// one address to the next (file, line, inlined call), and the calls themselves.
//
// Input:   the bytes of a foreign file, so nothing in them is trusted; everything is checked
//          against its part of the table, and the work against the budget.
// Memory:  a window or two of up to 64 KiB.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_GO_GO_FUNCTION_H_
#define STACKRAY_SYMBOLIZER_GO_GO_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "profile/frame.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/dwarf/section_cursor.h"
#include "symbolizer/go/go_layout.h"

namespace stackray {

struct GoFunction {
  uint64_t entry = 0, size_bytes = 0;  // ELF address; up to the next function.
  uint32_t name = 0;                   // Offset of its name.
  uint32_t files = 0, lines = 0;       // Offsets of value tables; 0: none.
  uint32_t unit = 0;                   // Index of its package's first file.
  uint32_t start_line = 0;             // 0: not known.
  uint32_t inlined = 0;                // Offset of the value table that numbers inlined calls.
  uint64_t calls = 0;                  // Where these are in GoLayout::inline_data.
  bool has_calls = false;
};

struct GoInlinedCall {
  uint32_t name = 0;
  uint32_t start_line = 0;
  uint32_t parent_pc = 0;  // In the function: an instruction at the place that it was called from.
};

class GoReader {
 public:
  // Both outlive this.
  GoReader(const GoLayout& layout, const ByteSource& source, uint64_t steps)
      : layout_(layout), source_(source), budget_{steps} {}

  // The number of the function at an ELF address.
  std::optional<uint64_t> FindFunction(uint64_t elf_address);
  std::optional<GoFunction> ReadFunction(uint64_t number);
  // The file and line of an instruction `pc` bytes into the function; empty where they are not
  // known.
  SourceLine PlaceAt(const GoFunction& function, uint64_t pc);
  // The innermost inlined call that it is part of; nullopt: none.
  std::optional<GoInlinedCall> InlinedCallAt(const GoFunction& function, uint64_t pc);
  // "" where there is none.
  std::string Name(uint32_t offset);

 private:
  dwarf::SectionPart Part(const FilePart& part) const {
    return {&source_, part.offset, part.size_bytes};
  }
  struct Entry {
    uint64_t pc, record;  // ELF address; offset in GoLayout::functions.
  };
  std::optional<Entry> EntryAt(dwarf::SectionCursor& cursor, uint64_t number) const;
  std::optional<int32_t> ValueAt(uint32_t table, uint64_t pc);
  std::string FileName(const GoFunction& function, int32_t file);
  void ReadInlining(dwarf::SectionCursor& cursor, uint32_t value_tables, uint32_t data_tables,
                    GoFunction* function);

  const GoLayout& layout_;
  const ByteSource& source_;
  dwarf::WorkBudget budget_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_GO_GO_FUNCTION_H_
