#include "symbolizer/dwarf/debug_file.h"

#include <algorithm>
#include <utility>

#include "symbolizer/debug_links.h"
#include "symbolizer/demangle.h"
#include "symbolizer/dwarf/entry_names.h"
#include "symbolizer/inlined_cut.h"

namespace stackray::dwarf {
namespace {

constexpr size_t kMaxIndexes = 256;

// A place in the source as one unit's line table numbers it.
struct Position {
  uint64_t file = 0, line = 0, column = 0;
};

// A call's line may be any 64 bits of the file; what no source has that many of is not known.
int64_t NumberOrUnknown(uint64_t number) {
  return number <= UINT32_MAX ? static_cast<int64_t>(number) : 0;
}

SourceLine MakeLine(EntryPlace function, const Position& position, const Unit& unit,
                    const std::optional<LineTable>& lines, WorkBudget& budget) {
  SourceLine line;
  if (function.info != nullptr) {
    EntryName name = NameOfEntry(function, budget);
    if (!name.linkage.empty()) {
      line.function = Demangle(name.linkage);
      if (line.function != name.linkage) line.system_name = std::move(name.linkage);
    } else {
      line.function = std::move(name.plain);
    }
    if (name.declared_file == position.file && name.unit == unit.header.offset &&
        name.declared_line <= position.line)
      line.start_line = NumberOrUnknown(name.declared_line);
  }
  if (lines) line.file = PathOfFile(lines->header(), unit, position.file, budget);
  if (line.file.empty()) return line;
  line.line = NumberOrUnknown(position.line);
  line.column = NumberOrUnknown(position.column);
  return line;
}

}  // namespace

std::unique_ptr<DebugFile> DebugFile::Open(const ByteSource& source, DebugFileSettings settings) {
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok()) return nullptr;
  std::unique_ptr<DebugFile> file(new DebugFile(source, std::move(settings)));
  file->sections_ = DebugSections::Open(*image, source, false, file->settings_.scratch);
  if (file->sections_.parts().info.empty() || file->sections_.parts().abbrev.empty())
    return nullptr;
  WorkBudget budget{kStepsOfOpening};
  file->info_ = std::make_unique<DebugInfo>(file->sections_.parts(), nullptr,
                                            file->settings_.cache_bytes / 4);
  file->info_->Scan([&] { return file->sections_.AddressSets(); }, budget);
  file->OpenAlternate(*image, budget);
  return file;
}

void DebugFile::OpenAlternate(const ElfImage& image, WorkBudget& budget) {
  const std::optional<AlternateLink> link = ReadAlternateLink(image, source_);
  if (!link || !settings_.open_related) return;
  alternate_source_ = settings_.open_related(link->path);
  if (alternate_source_ == nullptr) return;
  const absl::StatusOr<ElfImage> other = ElfImage::Create(*alternate_source_);
  if (!other.ok() || GnuBuildId(*other) != link->build_id) return;
  alternate_sections_ = DebugSections::Open(*other, *alternate_source_, false, settings_.scratch);
  if (alternate_sections_.parts().info.empty()) return;
  alternate_ =
      std::make_unique<DebugInfo>(alternate_sections_.parts(), nullptr, settings_.cache_bytes / 4);
  alternate_->Scan(nullptr, budget);
  info_->set_alternate(alternate_.get());
}

std::optional<SplitUnit> DebugFile::SplitOf(const UnitPtr& unit, WorkBudget& budget) {
  if (unit->root.dwo_name.kind == ValueKind::kNone || !SplitIdOf(*unit)) return std::nullopt;
  if (!packed_units_tried_ && !settings_.packed_units_path.empty())
    packed_units_ =
        OpenSplitFile(settings_.open_related, settings_.packed_units_path, settings_.scratch);
  packed_units_tried_ = true;
  if (std::optional<SplitUnit> split = FindSplitUnit(packed_units_, unit, budget)) return split;
  const std::string path = SplitPathOf(*unit, budget);
  if (path.empty()) return std::nullopt;
  return FindSplitUnit(OpenSplitFile(settings_.open_related, path, settings_.scratch), unit,
                       budget);
}

DebugFile::UnitIndex* DebugFile::IndexOf(uint64_t unit_offset, WorkBudget& budget) {
  const auto known = std::find_if(indexes_.begin(), indexes_.end(), [&](const UnitIndex& index) {
    return index.offset == unit_offset;
  });
  if (known != indexes_.end()) {
    indexes_.splice(indexes_.begin(), indexes_, known);
    return &indexes_.front();
  }
  UnitIndex index{.offset = unit_offset, .unit = info_->UnitOf(unit_offset, budget)};
  if (index.unit == nullptr) return nullptr;
  index.split = SplitOf(index.unit, budget);
  index.functions = UnitFunctions::Read(index.split ? *index.split->unit : *index.unit, budget);
  index.lines = LineTable::Read(*index.unit, budget);
  index.bytes = sizeof(UnitIndex) + index.functions.bytes() +
                (index.lines ? index.lines->bytes() : 0) +
                (index.split ? index.split->info->bytes() : 0);
  index_bytes_ += index.bytes;
  indexes_.push_front(std::move(index));
  Evict();
  return &indexes_.front();
}

void DebugFile::Evict() {
  while (indexes_.size() > 1 &&
         (index_bytes_ > settings_.cache_bytes / 2 || indexes_.size() > kMaxIndexes)) {
    index_bytes_ -= indexes_.back().bytes;
    indexes_.pop_back();
  }
}

std::vector<SourceLine> DebugFile::ResolveIn(UnitIndex& index, uint64_t address,
                                             WorkBudget& budget) {
  const Unit& unit = *index.unit;
  DebugInfo& info = index.split ? *index.split->info : *info_;
  const Unit& code = index.split ? *index.split->unit : unit;
  Position position;
  if (index.lines) {
    if (const std::optional<LineRow> row = index.lines->Find(unit, address, budget))
      position = {row->file, row->line, row->column};
  }
  const std::optional<uint64_t> function = index.functions.Find(address);
  std::vector<SourceLine> lines;
  if (!function) {
    SourceLine line = MakeLine({}, position, unit, index.lines, budget);
    if (!line.file.empty() && position.line != 0) lines.push_back(std::move(line));
    return lines;
  }
  const std::vector<InlinedCall> calls = InlinedCallsAt(code, *function, address, budget);
  const InlinedCut cut(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {  // From the innermost on.
    const InlinedCall& call = calls[calls.size() - 1 - i];
    if (i == cut.begin && cut.count() > 0) lines.push_back(cut.Line());
    if (!cut.Holds(i))
      lines.push_back(
          MakeLine(FollowReference(info, code, call.origin), position, unit, index.lines, budget));
    position = {call.call_file, call.call_line, call.call_column};
  }
  lines.push_back(MakeLine({&info, *function}, position, unit, index.lines, budget));
  return lines;
}

std::vector<SourceLine> DebugFile::Resolve(uint64_t elf_address) {
  WorkBudget budget{kStepsOfQuestion};
  std::vector<SourceLine> best;
  for (const uint64_t offset : info_->UnitsAt(elf_address)) {
    UnitIndex* index = IndexOf(offset, budget);
    if (index == nullptr) continue;
    std::vector<SourceLine> lines = ResolveIn(*index, elf_address, budget);
    if (lines.empty()) continue;
    if (!lines.back().function.empty()) return lines;
    if (best.empty()) best = std::move(lines);
  }
  return best;
}

size_t DebugFile::bytes() const {
  return sizeof(*this) + info_->bytes() + (alternate_ ? alternate_->bytes() : 0) + index_bytes_;
}

}  // namespace stackray::dwarf
