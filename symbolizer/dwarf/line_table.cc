#include "symbolizer/dwarf/line_table.h"

#include <algorithm>
#include <utility>

#include "symbolizer/dwarf/line_program.h"

namespace stackray::dwarf {
namespace {

constexpr size_t kRowsBetween = 128;
constexpr int kMostLooks = 4;

}  // namespace

std::optional<LineTable> LineTable::Read(const Unit& unit, WorkBudget& budget) {
  if (!unit.root.stmt_list) return std::nullopt;
  std::optional<LineHeader> header = LineHeader::Read(unit, *unit.root.stmt_list, budget);
  if (!header) return std::nullopt;
  LineTable table(*std::move(header));
  LineProgram program(unit, table.header_, {}, table.header_.program, budget);
  size_t first = 0, rows = 0;
  for (auto step = program.Next(); step != LineProgram::Step::kOver; step = program.Next()) {
    std::vector<Checkpoint>& points = table.checkpoints_;
    if (step == LineProgram::Step::kEndOfSequence) {
      if (points.size() > first && program.row().address > points[first].row.address)
        table.sequences_.push_back(
            {points[first].row.address, program.row().address, first, points.size() - first});
      first = points.size();
      rows = 0;
      continue;
    }
    if (points.size() == kMaxCheckpoints) break;
    // Within a sequence addresses ascend; a row that does not is no place to start from.
    const bool ascends =
        points.size() == first || points.back().row.address <= program.row().address;
    if (rows++ % kRowsBetween == 0 && ascends)
      points.push_back({program.row(), program.position()});
  }
  std::stable_sort(table.sequences_.begin(), table.sequences_.end(),
                   [](const Sequence& a, const Sequence& b) { return a.end < b.end; });
  table.checkpoints_.shrink_to_fit();
  return table;
}

std::optional<LineRow> LineTable::Find(const Unit& unit, uint64_t address,
                                       WorkBudget& budget) const {
  // Removed code may have left a sequence at address 0, over real ones: the one that begins last is
  // it.
  auto next = std::upper_bound(sequences_.begin(), sequences_.end(), address,
                               [](uint64_t a, const Sequence& s) { return a < s.end; });
  const Sequence* sequence = nullptr;
  for (int looks = 0; looks < kMostLooks && next != sequences_.end(); ++looks, ++next)
    if (next->begin <= address && (sequence == nullptr || sequence->begin < next->begin))
      sequence = &*next;
  if (sequence == nullptr) return std::nullopt;
  const auto begin = checkpoints_.begin() + static_cast<ptrdiff_t>(sequence->first);
  const auto end = begin + static_cast<ptrdiff_t>(sequence->count);
  auto point = std::upper_bound(begin, end, address,
                                [](uint64_t a, const Checkpoint& c) { return a < c.row.address; });
  if (point == begin) return std::nullopt;
  --point;
  LineRow found = point->row;
  LineProgram program(unit, header_, point->row, point->program, budget);
  while (program.Next() == LineProgram::Step::kRow && program.row().address <= address)
    found = program.row();
  return found;
}

size_t LineTable::bytes() const {
  return sizeof(*this) + header_.bytes() + checkpoints_.capacity() * sizeof(Checkpoint) +
         sequences_.capacity() * sizeof(Sequence);
}

}  // namespace stackray::dwarf
