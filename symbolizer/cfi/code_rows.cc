#include "symbolizer/cfi/code_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/cfa_program.h"
#include "symbolizer/cfi/frame_entries.h"
#include "symbolizer/cfi/rule_encode.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE), kUnsupported = CODE_SPECIAL(SPECIAL_UNSUPPORTED);
constexpr int64_t kBudget = 4 << 20;  // Instructions of all entries.
constexpr int64_t kEntryCost = 8;

bool IsInside(const FrameEntry& entry, std::span<const AddressRange> code) {
  return entry.begin < entry.end && entry.end - entry.begin <= UINT32_MAX &&
         std::ranges::any_of(code, [&](const AddressRange& range) {
           return entry.begin >= range.begin && entry.end <= range.end;
         });
}

CodeRows RowsOf(const FrameEntry& entry, const Machine& machine, int64_t* budget) {
  CodeRows found{.begin = entry.begin, .end = entry.end, .rows = {}, .rules = {}};
  CfaProgram program;
  RuleEncoder encoder(machine);
  program.Start(entry.common->context, entry.begin, entry.end, entry.instructions,
                entry.instructions_address, budget);
  while (program.NextRow()) {
    u16 code =
        program.damaged() ? kNone : encoder.Encode(program.state(), entry.common->signal_frame);
    if (code == kUnsupported) code = kNone;
    if (found.rows.empty() || found.rows.back().code != code)
      found.rows.push_back({static_cast<uint32_t>(program.row_begin() - entry.begin), code});
  }
  found.rows.shrink_to_fit();
  found.rules = encoder.rules();
  return found;
}

}  // namespace

size_t CodeRows::bytes() const {
  return sizeof(*this) + rows.capacity() * sizeof(Row) + rules.capacity() * sizeof(unwind_rule);
}

std::vector<CodeRows> ReadCodeRows(const EntryBytes& entries, const Machine& machine,
                                   std::span<const AddressRange> code) {
  const MemorySource source(entries.bytes);
  FrameRegion region;
  region.address = entries.address;
  region.size_bytes = region.scan_end = entries.bytes.size();
  region.is_debug_frame = entries.is_debug_frame;
  region.text_address = entries.text_address;
  region.end_is_known = true;
  region.machine = &machine;
  FrameEntries reader(&source, region);
  std::vector<CodeRows> all;
  size_t row_count = 0;
  int64_t budget = kBudget;
  for (uint64_t position = 0; position < region.scan_end && budget > 0;) {
    const std::optional<EntryHeader> header = reader.ReadHeader(position);
    if (!header || header->end <= position) break;
    budget -= kEntryCost;
    FrameEntry entry;
    if (!header->is_terminator && !header->is_common &&
        reader.Read(position, &budget, &entry) == FrameEntries::ReadResult::kOk &&
        IsInside(entry, code)) {
      CodeRows rows = RowsOf(entry, machine, &budget);
      row_count += rows.rows.size();
      if (row_count > kMaxCodeRows) break;
      if (!rows.rows.empty()) all.push_back(std::move(rows));
    }
    position = header->end;
  }
  return all;
}

}  // namespace stackray::cfi
