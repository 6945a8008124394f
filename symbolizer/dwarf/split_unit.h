// The part of a unit's debug information that lies in another file: a .dwo beside the object, or
// one of the units of a .dwp (DWARF 5 §3.1.2, §7.3.5; GNU's extension to DWARF 4).
// Input:   hostile. A split unit that does not carry the skeleton's id is not taken.
#ifndef STACKRAY_SYMBOLIZER_DWARF_SPLIT_UNIT_H_
#define STACKRAY_SYMBOLIZER_DWARF_SPLIT_UNIT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "symbolizer/dwarf/debug_info.h"
#include "symbolizer/dwarf/debug_sections.h"

namespace stackray::dwarf {

// A file that debug information names. `path` is absolute, or relative to the directory of the file
// that names it. nullptr: not there, or not to be had.
using OpenRelated = std::function<std::unique_ptr<ByteSource>(const std::string& path)>;

// A file of split units; a .dwo as a rule has one, a .dwp many.
struct SplitFile {
  std::unique_ptr<ByteSource> source;
  DebugSections sections;
};
// nullptr: no such file, or not ELF.
std::shared_ptr<const SplitFile> OpenSplitFile(const OpenRelated& open, const std::string& path,
                                               const ScratchSettings& scratch);

struct SplitUnit {
  std::shared_ptr<const SplitFile> file;
  std::unique_ptr<DebugInfo> info;
  UnitPtr unit;
};

// The id that a skeleton shares with its split unit; nullopt: the unit is not split.
std::optional<uint64_t> SplitIdOf(const Unit& unit);
// DW_AT_dwo_name, from the unit's directory.
std::string SplitPathOf(const Unit& skeleton, WorkBudget& budget);
// nullopt: the file does not have the unit.
std::optional<SplitUnit> FindSplitUnit(std::shared_ptr<const SplitFile> file,
                                       const UnitPtr& skeleton, WorkBudget& budget);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_SPLIT_UNIT_H_
