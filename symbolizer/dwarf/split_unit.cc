#include "symbolizer/dwarf/split_unit.h"

#include <utility>

namespace stackray::dwarf {
namespace {

constexpr size_t kOpenUnitBytes = 1 << 20;

// The columns of an index that matter here; 8 is .debug_rnglists from version 5 on only.
SectionPart SectionParts::*MemberOfColumn(uint32_t id, uint32_t version) {
  switch (id) {
    case 1: return &SectionParts::info;
    case 3: return &SectionParts::abbrev;
    case 6: return &SectionParts::str_offsets;
    case 8: return version >= 5 ? &SectionParts::rnglists : nullptr;
    default: return nullptr;
  }
}

// The row of the unit in .debug_cu_index, a hash table with open addressing; 0: not there.
uint32_t RowOfUnit(SectionCursor& cursor, uint64_t table, uint32_t slots, uint64_t id) {
  const uint64_t mask = slots - 1u;
  const uint64_t step = ((id >> 32) & mask) | 1;
  uint64_t slot = id & mask;
  for (uint32_t tries = 0; tries < slots && cursor.budget().Spend(1); ++tries) {
    cursor.Seek(table + slot * 8);
    const auto signature = cursor.Read<uint64_t>();
    cursor.Seek(table + uint64_t{slots} * 8 + slot * 4);
    const auto row = cursor.Read<uint32_t>();
    if (!cursor.ok() || row == 0) return 0;
    if (signature == id) return row;
    slot = (slot + step) & mask;
  }
  return 0;
}

// The slices of a .dwp that are one unit's.
std::optional<SectionParts> PartsOfPackedUnit(const SectionParts& whole, uint64_t id,
                                              WorkBudget& budget) {
  SectionCursor cursor(whole.unit_index, budget);
  const auto version = cursor.Read<uint32_t>() & 0xffff;
  const auto columns = cursor.Read<uint32_t>(), units = cursor.Read<uint32_t>(),
             slots = cursor.Read<uint32_t>();
  if (!cursor.ok() || (version != 2 && version != 5) || columns == 0 || columns > 32 ||
      slots == 0 || (slots & (slots - 1)) != 0)
    return std::nullopt;
  constexpr uint64_t kHeaderBytes = 16;
  const uint32_t row = RowOfUnit(cursor, kHeaderBytes, slots, id);
  if (row == 0 || row > units) return std::nullopt;
  const uint64_t names = kHeaderBytes + uint64_t{slots} * 12;
  const uint64_t row_bytes = uint64_t{columns} * 4;
  SectionParts parts = whole;
  for (uint32_t i = 0; i < columns; ++i) {
    cursor.Seek(names + i * 4);
    SectionPart SectionParts::*const member = MemberOfColumn(cursor.Read<uint32_t>(), version);
    cursor.Seek(names + row * row_bytes + i * 4);
    const auto offset = cursor.Read<uint32_t>();
    cursor.Seek(names + (uint64_t{units} + row) * row_bytes + i * 4);
    const auto size_bytes = cursor.Read<uint32_t>();
    if (!cursor.ok()) return std::nullopt;
    if (member != nullptr) parts.*member = (whole.*member).Slice(offset, size_bytes);
  }
  return parts;
}

}  // namespace

std::shared_ptr<const SplitFile> OpenSplitFile(const OpenRelated& open, const std::string& path,
                                               const ScratchSettings& scratch) {
  auto file = std::make_shared<SplitFile>();
  file->source = open ? open(path) : nullptr;
  if (file->source == nullptr) return nullptr;
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
  if (!image.ok()) return nullptr;
  file->sections = DebugSections::Open(*image, *file->source, true, scratch);
  return file;
}

std::optional<uint64_t> SplitIdOf(const Unit& unit) {
  if (unit.header.type == kUnitSkeleton || unit.header.type == kUnitSplitCompile)
    return unit.header.dwo_id;
  return unit.root.dwo_id;
}

std::string SplitPathOf(const Unit& skeleton, WorkBudget& budget) {
  const std::optional<TextPlace> place = TextPlaceOf(skeleton, skeleton.root.dwo_name, budget);
  if (!place || place->in_alternate) return {};
  std::string name = ReadText(*place, budget);
  if (name.empty() || name[0] == '/' || skeleton.comp_dir.empty()) return name;
  return skeleton.comp_dir + "/" + name;
}

std::optional<SplitUnit> FindSplitUnit(std::shared_ptr<const SplitFile> file,
                                       const UnitPtr& skeleton, WorkBudget& budget) {
  const std::optional<uint64_t> id = SplitIdOf(*skeleton);
  if (!id || file == nullptr) return std::nullopt;
  SectionParts parts = file->sections.parts();
  if (!parts.unit_index.empty()) {
    std::optional<SectionParts> slices = PartsOfPackedUnit(parts, *id, budget);
    if (!slices) return std::nullopt;
    parts = *slices;
  }
  auto info = std::make_unique<DebugInfo>(parts, skeleton, kOpenUnitBytes);
  info->Scan(nullptr, budget);
  for (const uint64_t offset : info->units()) {
    UnitPtr unit = info->UnitOf(offset, budget);
    if (unit == nullptr || unit->root.tag != kTagCompileUnit) continue;
    if (SplitIdOf(*unit) != id) continue;
    return SplitUnit{std::move(file), std::move(info), std::move(unit)};
  }
  return std::nullopt;
}

}  // namespace stackray::dwarf
