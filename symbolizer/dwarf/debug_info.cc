#include "symbolizer/dwarf/debug_info.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "symbolizer/dwarf/address_sets.h"
#include "symbolizer/dwarf/windowed_parts.h"

namespace stackray::dwarf {
namespace {

constexpr size_t kMostCandidates = 8;
constexpr size_t kMostLooksBack = 64;
constexpr size_t kUnitOverheadBytes = 256;

}  // namespace

void DebugInfo::Scan(const std::function<SectionPart()>& address_sets, WorkBudget& budget) {
  const WindowedParts windowed(parts_);
  const SectionParts& parts = windowed.parts();
  SectionCursor cursor(parts.info, budget);
  std::vector<uint32_t> unsure;  // Units that may have more ranges than they say.
  while (!cursor.AtEnd() && units_.size() < kMaxUnits && budget.Spend(1)) {
    uint64_t next = 0;
    const uint64_t begin = cursor.position();
    const std::optional<UnitHeader> header = ReadUnitHeader(cursor, &next);
    if (header && header->end <= parts.info.size_bytes) {
      const auto unit = static_cast<uint32_t>(units_.size());
      if (address_sets && !AddRanges(parts, *header, unit, budget)) unsure.push_back(unit);
      units_.push_back(header->offset);
    }
    if (next <= begin) break;
    cursor.Seek(next);
  }
  units_.shrink_to_fit();
  if (!unsure.empty()) AddAddressSets(address_sets(), unsure, budget);
  MergeRanges();
}

void DebugInfo::AddRange(const AddressRange& range, uint32_t unit) {
  const uint64_t size_bytes = range.end - range.begin;
  if (ranges_.size() == kMaxRanges || size_bytes > std::numeric_limits<uint32_t>::max()) return;
  ranges_.push_back({range.begin, static_cast<uint32_t>(size_bytes), unit});
}

// Only the first declaration of the abbreviations is read for it, which is the root's as a rule.
bool DebugInfo::AddRanges(const SectionParts& parts, const UnitHeader& header, uint32_t unit,
                          WorkBudget& budget) {
  if (header.type != kUnitCompile && header.type != kUnitSkeleton) return true;
  const uint64_t code = SectionCursor(parts.info, budget, header.first_entry).ReadUleb();
  if (code == 0) return true;
  const SectionCursor declarations(parts.abbrev, budget, header.abbrev_offset);
  auto abbreviations =
      std::make_shared<Abbreviations>(Abbreviations::Read(declarations, header.format, code));
  const Unit open = OpenUnit(parts, header, std::move(abbreviations), nullptr, budget);
  for (const AddressRange& range :
       RangesOf(open, open.root.low_pc, open.root.high_pc, open.root.ranges, budget))
    AddRange(range, unit);
  return !SaysFirstPieceOnly(open);
}

void DebugInfo::AddAddressSets(const SectionPart& sets, const std::vector<uint32_t>& units,
                               WorkBudget& budget) {
  const auto offset_of = [&](uint32_t unit) { return units_[unit]; };
  ReadAddressSets(sets, budget, [&](uint64_t info_offset, const AddressRange& range) {
    const auto unit = std::ranges::lower_bound(units, info_offset, {}, offset_of);
    if (unit != units.end() && units_[*unit] == info_offset) AddRange(range, *unit);
  });
}

// Of a function in a header the linker keeps the first unit's code, and ld.bfd makes the entries of
// all others that compiled it mean that code too: of units with equal ranges the first counts.
//
// Ranges of one unit without another's between them are one: what lies in the gap is found in no
// function of the unit, and so nowhere, as before.
void DebugInfo::MergeRanges() {
  std::sort(ranges_.begin(), ranges_.end(), [](const UnitRange& a, const UnitRange& b) {
    return std::tie(a.begin, a.size_bytes, a.unit) < std::tie(b.begin, b.size_bytes, b.unit);
  });
  const auto equal =
      std::unique(ranges_.begin(), ranges_.end(), [](const UnitRange& a, const UnitRange& b) {
        return a.begin == b.begin && a.size_bytes == b.size_bytes;
      });
  ranges_.erase(equal, ranges_.end());
  size_t kept = 0;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    UnitRange* const last = kept > 0 ? &ranges_[kept - 1] : nullptr;
    const uint64_t end = ranges_[i].begin + ranges_[i].size_bytes;
    if (last != nullptr && last->unit == ranges_[i].unit &&
        end - last->begin <= std::numeric_limits<uint32_t>::max()) {
      last->size_bytes = std::max(last->size_bytes, static_cast<uint32_t>(end - last->begin));
    } else {
      ranges_[kept++] = ranges_[i];
    }
  }
  ranges_.resize(kept);
  ranges_.shrink_to_fit();
}

std::vector<uint64_t> DebugInfo::UnitsAt(uint64_t address) const {
  std::vector<const UnitRange*> found;
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const UnitRange& r) { return a < r.begin; });
  for (size_t looks = 0; range != ranges_.begin() && looks < kMostLooksBack; ++looks) {
    --range;
    if (address - range->begin >= range->size_bytes) continue;
    found.push_back(&*range);
    if (found.size() == kMostCandidates) break;
  }
  std::stable_sort(found.begin(), found.end(), [](const UnitRange* a, const UnitRange* b) {
    return a->size_bytes < b->size_bytes;
  });
  std::vector<uint64_t> units;
  units.reserve(found.size());
  for (const UnitRange* one : found) units.push_back(units_[one->unit]);
  return units;
}

std::shared_ptr<const Abbreviations> DebugInfo::AbbreviationsOf(const UnitHeader& header,
                                                                WorkBudget& budget) {
  for (const OpenUnitEntry& entry : open_) {
    const UnitHeader& other = entry.unit->header;
    if (other.abbrev_offset == header.abbrev_offset && other.format == header.format)
      return entry.unit->abbreviations;
  }
  const SectionCursor declarations(parts_.abbrev, budget, header.abbrev_offset);
  return std::make_shared<Abbreviations>(Abbreviations::Read(declarations, header.format));
}

UnitPtr DebugInfo::UnitOf(uint64_t info_offset, WorkBudget& budget) {
  auto unit = std::upper_bound(units_.begin(), units_.end(), info_offset);
  if (unit == units_.begin()) return nullptr;
  const uint64_t offset = *--unit;
  const auto known = std::find_if(open_.begin(), open_.end(), [&](const OpenUnitEntry& entry) {
    return entry.offset == offset;
  });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
  } else {
    uint64_t next = 0;
    SectionCursor cursor(parts_.info, budget, offset);
    const std::optional<UnitHeader> header = ReadUnitHeader(cursor, &next);
    if (!header) return nullptr;
    auto opened = std::make_shared<Unit>(
        OpenUnit(parts_, *header, AbbreviationsOf(*header, budget), skeleton_.get(), budget));
    const size_t bytes = sizeof(Unit) + opened->abbreviations->bytes() + kUnitOverheadBytes;
    open_.push_front({offset, std::move(opened), bytes});
    open_bytes_ += bytes;
    Evict();
  }
  const UnitPtr& found = open_.front().unit;
  return info_offset < found->header.end ? found : nullptr;
}

void DebugInfo::Evict() {
  while (open_bytes_ > open_limit_bytes_ && open_.size() > 1) {
    open_bytes_ -= open_.back().bytes;
    open_.pop_back();
  }
}

size_t DebugInfo::bytes() const {
  return sizeof(*this) + units_.capacity() * sizeof(uint64_t) +
         ranges_.capacity() * sizeof(UnitRange) + open_bytes_;
}

}  // namespace stackray::dwarf
