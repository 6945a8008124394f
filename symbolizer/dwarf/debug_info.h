// The units of one .debug_info: where each begins, which code each covers, and those that are open.
// Input:   hostile. Units that are not understood are left out.
// Memory:  8 bytes a unit and 16 bytes a range of code (neighbouring ranges of a unit are one), at
//          most kMaxUnits and kMaxRanges; open units with their abbreviations in at most
//          `open_bytes`, and the one used last.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_DWARF_DEBUG_INFO_H_
#define STACKRAY_SYMBOLIZER_DWARF_DEBUG_INFO_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace stackray::dwarf {

using UnitPtr = std::shared_ptr<const Unit>;

class DebugInfo {
 public:
  static constexpr size_t kMaxUnits = 1 << 20;
  static constexpr size_t kMaxRanges = 1 << 20;

  // The sections outlive this. `skeleton`: of a split unit's own file, else nullptr.
  DebugInfo(const SectionParts& parts, UnitPtr skeleton, size_t open_bytes)
      : parts_(parts), skeleton_(std::move(skeleton)), open_limit_bytes_(open_bytes) {}

  // Finds the units; with `address_sets`, also the code of each. It is called for .debug_aranges,
  // where units are not sure to say themselves what they have. Once, before anything else. What the
  // budget does not reach is left out.
  void Scan(const std::function<SectionPart()>& address_sets, WorkBudget& budget);

  // Offsets of units whose ranges hold the address, the narrowest first; at most 8.
  std::vector<uint64_t> UnitsAt(uint64_t address) const;
  // Where units begin, ascending.
  const std::vector<uint64_t>& units() const { return units_; }
  // The unit that an offset in .debug_info lies in; nullptr: none.
  UnitPtr UnitOf(uint64_t info_offset, WorkBudget& budget);

  // What references into another file lead to (.gnu_debugaltlink); nullptr: there is none. Outlives
  // this.
  void set_alternate(DebugInfo* alternate) { alternate_ = alternate; }
  DebugInfo* alternate() const { return alternate_; }
  const SectionParts& parts() const { return parts_; }
  size_t bytes() const;

 private:
  struct UnitRange {
    uint64_t begin;
    uint32_t size_bytes, unit;  // Index into units_.
  };
  struct OpenUnitEntry {
    uint64_t offset;
    UnitPtr unit;
    size_t bytes;
  };

  void AddRange(const AddressRange& range, uint32_t unit);
  // False: there may be more in .debug_aranges.
  bool AddRanges(const SectionParts& parts, const UnitHeader& header, uint32_t unit,
                 WorkBudget& budget);
  void AddAddressSets(const SectionPart& sets, const std::vector<uint32_t>& units,
                      WorkBudget& budget);
  void MergeRanges();
  std::shared_ptr<const Abbreviations> AbbreviationsOf(const UnitHeader& header,
                                                       WorkBudget& budget);
  void Evict();

  const SectionParts parts_;
  const UnitPtr skeleton_;
  const size_t open_limit_bytes_;
  DebugInfo* alternate_ = nullptr;
  std::vector<uint64_t> units_;
  std::vector<UnitRange> ranges_;  // By begin.
  std::list<OpenUnitEntry> open_;  // Used last first.
  size_t open_bytes_ = 0;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_DEBUG_INFO_H_
