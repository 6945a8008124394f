#include "symbolizer/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

namespace stackray {
namespace {

constexpr uint32_t kNoName =
    std::numeric_limits<uint32_t>::max();  // A preference: not a name at all.
constexpr uint64_t kNameWindowBytes = 64 << 10;
constexpr uint64_t kRankedNameBytes = 1024;  // More of a name does not decide anything.

bool IsUnsized(const SymbolCandidate& candidate) {
  return (candidate.preference & kUnsizedLabel) != 0;
}

void SortByStart(std::vector<SymbolCandidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.start, a.preference, a.name, a.size) <
           std::tie(b.start, b.preference, b.name, b.size);
  });
}

// Labels inside of a sized symbol say less than that symbol.
void DropCoveredLabels(std::vector<SymbolCandidate>& candidates) {
  uint64_t covered_until = 0;
  std::erase_if(candidates, [&](const SymbolCandidate& candidate) {
    if (IsUnsized(candidate)) return candidate.start < covered_until;
    covered_until = std::max(covered_until, uint64_t{candidate.start} + candidate.size);
    return false;
  });
}

bool IsCompilersLabel(std::string_view name) {
  if (name.empty() || name.starts_with(".L")) return true;
  // "$x" and "$d", alone or as "$x.anything".
  return name[0] == '$' && name.size() >= 2 && (name.size() == 2 || name[2] == '.');
}

// Puts what only the name's text decides into the low bits of the preference, for labels and for
// names that are otherwise equal. Reads the names in the file's order.
void RankNames(const ByteSource& source, const StringTables& strings,
               std::vector<SymbolCandidate>& candidates) {
  const auto same = [&](size_t a, size_t b) {
    return candidates[a].start == candidates[b].start &&
           candidates[a].preference == candidates[b].preference;
  };
  std::vector<uint32_t> wanted;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (IsUnsized(candidates[i]) || (i > 0 && same(i - 1, i)) ||
        (i + 1 < candidates.size() && same(i, i + 1)))
      wanted.push_back(static_cast<uint32_t>(i));
  }
  std::sort(wanted.begin(), wanted.end(),
            [&](uint32_t a, uint32_t b) { return candidates[a].name < candidates[b].name; });
  NameReader reader(source, strings, kNameWindowBytes, kRankedNameBytes);
  for (const uint32_t index : wanted) {
    SymbolCandidate& candidate = candidates[index];
    const std::string_view name = reader.Read(candidate.name);
    if (name.empty() || (IsUnsized(candidate) && IsCompilersLabel(name))) {
      candidate.preference = kNoName;
      continue;
    }
    const size_t underscores = std::min(name.find_first_not_of('_'), name.size());
    candidate.preference |= static_cast<uint32_t>(std::min<size_t>(underscores, 255)) << 16 |
                            static_cast<uint32_t>(std::min<size_t>(name.size(), 0xffff));
  }
  std::erase_if(candidates, [](const auto& candidate) { return candidate.preference == kNoName; });
}

// A label ends where anything else starts, and never behind the bound that the scan gave it.
void BoundLabels(std::vector<SymbolCandidate>& candidates) {
  uint64_t next_start = std::numeric_limits<uint64_t>::max();
  for (size_t i = candidates.size(); i-- > 0;) {
    SymbolCandidate& candidate = candidates[i];
    if (i + 1 < candidates.size() && candidates[i + 1].start != candidate.start)
      next_start = candidates[i + 1].start;
    if (!IsUnsized(candidate)) continue;
    candidate.size =
        static_cast<uint32_t>(std::min<uint64_t>(candidate.size, next_start - candidate.start));
  }
}

}  // namespace

absl::StatusOr<SymbolTable> SymbolTable::Create(const ElfImage& image, const ByteSource& source,
                                                size_t max_symbols) {
  if (image.file_type() == ET_REL)
    return absl::UnimplementedError("symbols of a relocatable file have no addresses");
  absl::StatusOr<ScannedSymbols> scanned = ScanSymbols(image, source, max_symbols);
  if (!scanned.ok()) return scanned.status();
  SortByStart(scanned->candidates);
  DropCoveredLabels(scanned->candidates);
  RankNames(source, scanned->strings, scanned->candidates);
  SortByStart(scanned->candidates);
  BoundLabels(scanned->candidates);
  SymbolTable table;
  table.base_ = scanned->base;
  table.strings_ = scanned->strings;
  table.Flatten(scanned->candidates);
  return table;
}

void SymbolTable::Append(uint64_t start, uint64_t end, NameReference name) {
  if (start >= end) return;
  if (!ranges_.empty() && ranges_.back().name == name &&
      uint64_t{ranges_.back().start} + ranges_.back().size == start) {
    ranges_.back().size += static_cast<uint32_t>(end - start);
    return;
  }
  ranges_.push_back({static_cast<uint32_t>(start), static_cast<uint32_t>(end - start), name});
}

// Sweeps over the starts with the ranges that are open on a stack, the innermost on top.
void SymbolTable::Flatten(const std::vector<SymbolCandidate>& candidates) {
  struct Open {
    uint64_t end;
    NameReference name;
  };
  std::vector<Open> open;
  uint64_t position = 0;
  const auto advance = [&](uint64_t to) {
    while (position < to && !open.empty()) {
      const Open top = open.back();
      const uint64_t end = std::min(top.end, to);
      if (end > position) {
        Append(position, end, top.name);
        position = end;
      }
      if (top.end <= position) open.pop_back();
    }
    position = to;
  };
  ranges_.reserve(candidates.size());
  for (size_t first = 0; first < candidates.size();) {
    const uint64_t start = candidates[first].start;
    advance(start);
    size_t last = first;
    while (last < candidates.size() && candidates[last].start == start) ++last;
    // The preferred name of one start goes on top; a name that it hides completely is not kept.
    for (size_t i = last; i-- > first;) {
      const uint64_t end = start + candidates[i].size;
      while (!open.empty() && open.back().end <= end) open.pop_back();
      open.push_back({end, candidates[i].name});
    }
    first = last;
  }
  advance(std::numeric_limits<uint64_t>::max());
  ranges_.shrink_to_fit();
}

std::optional<size_t> SymbolTable::FindRange(uint64_t elf_address) const {
  if (elf_address < base_) return std::nullopt;
  const uint64_t address = elf_address - base_;
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const Range& r) { return a < r.start; });
  if (range == ranges_.begin()) return std::nullopt;
  --range;
  if (address - range->start >= range->size) return std::nullopt;
  return static_cast<size_t>(range - ranges_.begin());
}

std::optional<std::string> SymbolTable::NameOfRange(const ByteSource& source, size_t range) const {
  std::string name = ReadSymbolName(source, strings_, ranges_[range].name);
  if (name.empty()) return std::nullopt;
  return name;
}

std::optional<std::string> SymbolTable::FindName(const ByteSource& source,
                                                 uint64_t elf_address) const {
  const std::optional<size_t> range = FindRange(elf_address);
  return range ? NameOfRange(source, *range) : std::nullopt;
}

}  // namespace stackray
