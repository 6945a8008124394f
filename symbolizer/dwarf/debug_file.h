// One file with debug information: ELF address → functions, inlined ones first, with file and line.
//
// Nothing is mapped and little is kept: the places of units, and for the units asked last which
// function is where. Every answer is read from the file again, so callers keep answers.
//
// Input:   a foreign file, so nothing in it is trusted. A question costs at most kStepsOfQuestion
//          (about half a second); what is over that is not found.
// Memory:  at most `cache_bytes` and the unit asked last; compressed sections are unpacked to disk.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_DWARF_DEBUG_FILE_H_
#define STACKRAY_SYMBOLIZER_DWARF_DEBUG_FILE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/frame.h"
#include "symbolizer/dwarf/debug_info.h"
#include "symbolizer/dwarf/debug_sections.h"
#include "symbolizer/dwarf/line_table.h"
#include "symbolizer/dwarf/split_unit.h"
#include "symbolizer/dwarf/unit_functions.h"

namespace stackray::dwarf {

struct DebugFileSettings {
  ScratchSettings scratch;
  size_t cache_bytes = 4 << 20;
  // Split units and the alternate file. Without it there are none.
  OpenRelated open_related;
  std::string packed_units_path;  // A .dwp to try first; empty: none.
};

class DebugFile {
 public:
  static constexpr uint64_t kStepsOfQuestion = 32 << 20;
  static constexpr uint64_t kStepsOfOpening = 128 << 20;

  // `source` outlives this. nullptr: the file has no debug information.
  static std::unique_ptr<DebugFile> Open(const ByteSource& source, DebugFileSettings settings);

  // Innermost first. The last one is the function that the code belongs to; it has no name where
  // only the line is known. Empty: the file says nothing of the address. Where very many are
  // inlined (inlined_cut.h), those in the middle are left out.
  std::vector<SourceLine> Resolve(uint64_t elf_address);
  // Neither this file nor dwz's common one was overwritten since they were opened.
  bool IsUnchanged() const {
    return source_.IsUnchanged() &&
           (alternate_source_ == nullptr || alternate_source_->IsUnchanged());
  }
  size_t bytes() const;

 private:
  // What is known of one unit.
  struct UnitIndex {
    uint64_t offset = 0;
    UnitPtr unit;                    // Of this file.
    std::optional<SplitUnit> split;  // Where its entries are, if not here.
    UnitFunctions functions;
    std::optional<LineTable> lines;
    size_t bytes = 0;
  };

  DebugFile(const ByteSource& source, DebugFileSettings settings)
      : source_(source), settings_(std::move(settings)) {}
  void OpenAlternate(const ElfImage& image, WorkBudget& budget);
  UnitIndex* IndexOf(uint64_t unit_offset, WorkBudget& budget);
  std::optional<SplitUnit> SplitOf(const UnitPtr& unit, WorkBudget& budget);
  void Evict();
  std::vector<SourceLine> ResolveIn(UnitIndex& index, uint64_t address, WorkBudget& budget);

  const ByteSource& source_;
  const DebugFileSettings settings_;
  DebugSections sections_;
  std::unique_ptr<DebugInfo> info_;
  // The alternate file that dwz moved common parts to.
  std::unique_ptr<ByteSource> alternate_source_;
  DebugSections alternate_sections_;
  std::unique_ptr<DebugInfo> alternate_;
  std::shared_ptr<const SplitFile> packed_units_;
  bool packed_units_tried_ = false;
  std::list<UnitIndex> indexes_;  // Used last first.
  size_t index_bytes_ = 0;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_DEBUG_FILE_H_
