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
};

CodePlace ReadPlace(EntryReader& reader) {
  CodePlace place;
  reader.ReadAttributes([&](uint16_t name, const FormValue& value) { place.Take(name, value); });
  return place;
}

std::vector<AddressRange> PiecesOf(const Unit& unit, const CodePlace& place, WorkBudget& budget) {
  return RangesOf(unit, place.low_pc, place.high_pc, place.ranges, budget);
}

bool Holds(const Unit& unit, const CodePlace& place, uint64_t address, WorkBudget& budget) {
  for (const AddressRange& range : PiecesOf(unit, place, budget))
    if (address >= range.begin && address < range.end) return true;
  return false;
}

InlinedCall ReadCall(EntryReader& reader, CodePlace* place) {
  InlinedCall call;
  reader.ReadAttributes([&](uint16_t name, const FormValue& value) {
    place->Take(name, value);
    if (name == kAtAbstractOrigin) call.origin = value;
    if (name == kAtCallFile) call.call_file = value.number;
    if (name == kAtCallLine) call.call_line = value.number;
    if (name == kAtCallColumn) call.call_column = value.number;
  });
  return call;
}

}  // namespace

UnitFunctions UnitFunctions::Read(const Unit& unit, WorkBudget& budget) {
  UnitFunctions table;
  EntryReader reader(unit, budget);
  while (reader.ok() && table.functions_.size() < kMaxFunctions) {
    const Abbreviation* entry = reader.Next();
    if (entry == nullptr) continue;
    if (entry->tag != kTagSubprogram || !entry->says_place) {
      reader.SkipAttributes();
      continue;
    }
    const CodePlace place = ReadPlace(reader);
    for (const AddressRange& range : PiecesOf(unit, place, budget))
      table.functions_.push_back({range.begin, range.end, reader.entry_offset()});
  }
  if (SaysFirstPieceOnly(unit)) table.AddCallsElsewhere(unit, budget);
  table.functions_.shrink_to_fit();
  std::stable_sort(table.functions_.begin(), table.functions_.end(),
                   [](const Function& a, const Function& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
                   });
  return table;
}

void UnitFunctions::AddCallsElsewhere(const Unit& unit, WorkBudget& budget) {
  EntryReader reader(unit, budget);
  Function function{};  // The last one; entries deeper than it are in it.
  uint64_t depth = 0, function_depth = 0;
  while (reader.ok() && functions_.size() < kMaxFunctions) {
    const Abbreviation* entry = reader.Next();
    if (entry == nullptr) {
      if (depth > 0) --depth;
      continue;
    }
    const bool is_function = entry->tag == kTagSubprogram;
    if (!entry->says_place || (!is_function && entry->tag != kTagInlinedSubroutine)) {
      reader.SkipAttributes();
    } else {
      for (const AddressRange& range : PiecesOf(unit, ReadPlace(reader), budget)) {
        if (is_function) {
          function = {range.begin, range.end, reader.entry_offset()};
          function_depth = depth;
        } else if (depth > function_depth &&
                   (range.begin < function.begin || range.end > function.end)) {
          functions_.push_back({range.begin, range.end, function.entry});
        }
      }
    }
    if (entry->has_children) ++depth;
  }
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
  struct OpenCall {
    InlinedCall call;
    uint64_t depth;
    uint64_t number;  // Of all calls, in their order.
  };
  std::vector<OpenCall> path,
      found;  // The calls that the entry at hand is in; those that hold the address.
  const bool children_hold_more = SaysFirstPieceOnly(unit);
  EntryReader reader(unit, budget);
  reader.Seek(function);
  uint64_t depth = 0;  // Of the entry at hand below the function, which is at 0.
  uint64_t number = 0;
  uint64_t skipped = 0;  // Entries deeper than this are of code elsewhere, while not 0.
  do {
    const Abbreviation* entry = reader.Next();
    if (entry == nullptr) {
      if (!reader.ok() || depth == 0) break;
      --depth;
      continue;
    }
    while (!path.empty() && path.back().depth >= depth) path.pop_back();
    if (skipped != 0 && depth <= skipped) skipped = 0;
    const bool is_call = entry->tag == kTagInlinedSubroutine && depth > 0 && skipped == 0 &&
                         path.size() < kMaxInlineDepth;
    if (!is_call) {
      reader.SkipAttributes();
      if (entry->tag == kTagSubprogram && depth > 0 && skipped == 0) skipped = depth;
    } else {
      CodePlace place;
      const InlinedCall call = ReadCall(reader, &place);
      path.push_back({call, depth, ++number});
      if (Holds(unit, place, address, budget)) {
        const bool is_next = found.size() + 1 == path.size() && !found.empty() &&
                             found.back().number == path[path.size() - 2].number;
        if (is_next) {
          found.push_back(path.back());
        } else if (budget.Spend(path.size())) {
          found = path;
        }
      } else if (!children_hold_more) {
        skipped = depth;
      }
    }
    if (entry->has_children) ++depth;
  } while (reader.ok() && depth > 0);
  std::vector<InlinedCall> calls;
  calls.reserve(found.size());
  for (const OpenCall& one : found) calls.push_back(one.call);
  return calls;
}

}  // namespace stackray::dwarf
