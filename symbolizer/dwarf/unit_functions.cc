#include "symbolizer/dwarf/unit_functions.h"

#include <algorithm>

#include "symbolizer/dwarf/entry_reader.h"

namespace stackray::dwarf {
namespace {

struct CodePlace {
  FormValue low_pc, high_pc, ranges;
  void Take(uint16_t name, const FormValue& value) {
    if (name == kAtLowPc) low_pc = value;
    if (name == kAtHighPc) high_pc = value;
    if (name == kAtRanges) ranges = value;
  }
  bool empty() const { return low_pc.kind == ValueKind::kNone && ranges.kind == ValueKind::kNone; }
};

bool Holds(const Unit& unit, const CodePlace& place, uint64_t address, WorkBudget& budget) {
  if (place.empty()) return false;
  for (const AddressRange& range :
       RangesOf(unit, place.low_pc, place.high_pc, place.ranges, budget))
    if (address >= range.begin && address < range.end) return true;
  return false;
}

}  // namespace

UnitFunctions UnitFunctions::Read(const Unit& unit, WorkBudget& budget) {
  UnitFunctions table;
  EntryReader reader(unit, budget);
  while (reader.ok() && table.functions_.size() < kMaxFunctions) {
    const Abbreviation* entry = reader.Next();
    if (entry == nullptr) continue;
    if (entry->tag != kTagSubprogram) {
      reader.SkipAttributes();
      continue;
    }
    CodePlace place;
    reader.ReadAttributes([&](uint16_t name, const FormValue& value) { place.Take(name, value); });
    if (place.empty()) continue;
    for (const AddressRange& range :
         RangesOf(unit, place.low_pc, place.high_pc, place.ranges, budget))
      table.functions_.push_back({range.begin, range.end, reader.entry_offset()});
  }
  table.functions_.shrink_to_fit();
  std::stable_sort(table.functions_.begin(), table.functions_.end(),
                   [](const Function& a, const Function& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
                   });
  return table;
}

std::optional<uint64_t> UnitFunctions::Find(uint64_t address) const {
  constexpr size_t kMostLooksBack = 64;  // Functions hardly ever lie in one another.
  auto function = std::upper_bound(functions_.begin(), functions_.end(), address,
                                   [](uint64_t a, const Function& f) { return a < f.begin; });
  for (size_t looks = 0; function != functions_.begin() && looks < kMostLooksBack; ++looks) {
    --function;
    if (address < function->end) return function->entry;
  }
  return std::nullopt;
}

std::vector<InlinedCall> InlinedCallsAt(const Unit& unit, uint64_t function, uint64_t address,
                                        WorkBudget& budget) {
  struct Found {
    InlinedCall call;
    uint64_t depth;
  };
  std::vector<Found> chain;
  EntryReader reader(unit, budget);
  reader.Seek(function);
  uint64_t depth = 0;    // Of the entry at hand below the function, which is at 0.
  uint64_t skipped = 0;  // Entries deeper than this are of code elsewhere, while not 0.
  do {
    const Abbreviation* entry = reader.Next();
    if (entry == nullptr) {
      if (!reader.ok() || depth == 0) break;
      --depth;
      continue;
    }
    if (skipped != 0 && depth <= skipped) skipped = 0;
    const bool is_call = entry->tag == kTagInlinedSubroutine && depth > 0 && skipped == 0;
    if (!is_call) {
      reader.SkipAttributes();
      if (entry->tag == kTagSubprogram && depth > 0 && skipped == 0) skipped = depth;
    } else {
      CodePlace place;
      InlinedCall call;
      reader.ReadAttributes([&](uint16_t name, const FormValue& value) {
        place.Take(name, value);
        if (name == kAtAbstractOrigin) call.origin = value;
        if (name == kAtCallFile) call.call_file = value.number;
        if (name == kAtCallLine) call.call_line = value.number;
        if (name == kAtCallColumn) call.call_column = value.number;
      });
      if (Holds(unit, place, address, budget)) {
        while (!chain.empty() && chain.back().depth >= depth) chain.pop_back();
        if (chain.size() < kMaxInlineDepth) chain.push_back({call, depth});
      } else {
        skipped = depth;
      }
    }
    if (entry->has_children) ++depth;
  } while (reader.ok() && depth > 0);
  std::vector<InlinedCall> calls;
  calls.reserve(chain.size());
  for (const Found& found : chain) calls.push_back(found.call);
  return calls;
}

}  // namespace stackray::dwarf
