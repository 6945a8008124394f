#include "symbolizer/dwarf/entry_names.h"

#include <optional>

#include "symbolizer/dwarf/entry_reader.h"

namespace stackray::dwarf {
namespace {

constexpr int kMostReferences = 16;

std::string TextOf(DebugInfo& info, const Unit& unit, const FormValue& value, WorkBudget& budget) {
  std::optional<TextPlace> place = TextPlaceOf(unit, value, budget);
  if (!place) return {};
  if (place->in_alternate) {
    if (info.alternate() == nullptr) return {};
    place->part = info.alternate()->parts().str;
  }
  return ReadText(*place, budget);
}

struct EntryFacts {
  FormValue linkage, plain, origin, specification;
  uint64_t file = 0, line = 0;
};

EntryFacts ReadFacts(EntryReader& reader) {
  EntryFacts facts;
  reader.ReadAttributes([&](uint16_t name, const FormValue& value) {
    switch (name) {
      case kAtMipsLinkageName:
      case kAtLinkageName: facts.linkage = value; break;
      case kAtName: facts.plain = value; break;
      case kAtAbstractOrigin: facts.origin = value; break;
      case kAtSpecification: facts.specification = value; break;
      case kAtDeclFile: facts.file = value.number; break;
      case kAtDeclLine: facts.line = value.number; break;
      default: break;
    }
  });
  return facts;
}

}  // namespace

EntryPlace FollowReference(DebugInfo& info, const Unit& unit, const FormValue& value) {
  switch (value.kind) {
    case ValueKind::kUnitOffset: return {&info, unit.header.offset + value.number};
    case ValueKind::kInfoOffset: return {&info, value.number};
    case ValueKind::kAltOffset: return {info.alternate(), value.number};
    default: return {};
  }
}

EntryName NameOfEntry(EntryPlace place, WorkBudget& budget) {
  EntryName name;
  for (int i = 0; i < kMostReferences && place.info != nullptr && name.linkage.empty(); ++i) {
    const UnitPtr unit = place.info->UnitOf(place.offset, budget);
    if (unit == nullptr) break;
    EntryReader reader(*unit, budget);
    reader.Seek(place.offset);
    if (reader.Next() == nullptr) break;
    const EntryFacts facts = ReadFacts(reader);
    name.linkage = TextOf(*place.info, *unit, facts.linkage, budget);
    if (name.plain.empty()) name.plain = TextOf(*place.info, *unit, facts.plain, budget);
    if (name.declared_line == 0 && facts.line != 0) {
      name.declared_line = facts.line;
      name.declared_file = facts.file;
      name.unit = unit->header.offset;
    }
    const FormValue& next =
        facts.origin.kind != ValueKind::kNone ? facts.origin : facts.specification;
    place = FollowReference(*place.info, *unit, next);
  }
  return name;
}

}  // namespace stackray::dwarf
