#include "symbolizer/cfi/x86_64_gaps.h"

#include <algorithm>
#include <array>
#include <vector>

#include "symbolizer/cfi/instruction_look.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr uint32_t kLeastGapBytes = 8;  // In clone3 of the C library 10 bytes have no rules.
constexpr uint32_t kFunctionAlignment = 16;
constexpr uint32_t kLargeGapBytes = 1024;
constexpr uint64_t kBytesBefore = 32 << 10, kBytesAfter = 4 << 10;

struct Gap {
  uint32_t begin = 0, end = 0;
};

// What a compiler leaves in front of the next function; its bytes are not even read. (In 1,190
// programs and libraries of Debian 12 one such gap held an instruction, a ret.) A gap that goes on
// in the next page may be longer.
bool IsAlignment(const Gap& gap, const GapPiece& piece) {
  return gap.end - gap.begin < kFunctionAlignment && gap.end % kFunctionAlignment == 0 &&
         gap.end != piece.page_end;
}

std::vector<Gap> FindGaps(std::span<const PageRow> rows, const GapPiece& piece) {
  std::vector<Gap> gaps;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t end = i + 1 < rows.size() ? rows[i + 1].offset : PAGE_TEXT_BYTES;
    const Gap gap{std::max<uint32_t>(rows[i].offset, piece.page_begin),
                  std::min(end, piece.page_end)};
    if (rows[i].code == kNone && gap.begin + kLeastGapBytes <= gap.end && !IsAlignment(gap, piece))
      gaps.push_back(gap);
  }
  return gaps;
}

uint32_t SumOf(std::span<const Gap> gaps) {
  uint32_t sum = 0;
  for (const Gap& gap : gaps) sum += gap.end - gap.begin;
  return sum;
}

// Where rules end and a gap begins. What was before a piece is not known here.
std::vector<uint64_t> TableEnds(std::span<const Gap> gaps, const GapPiece& piece) {
  std::vector<uint64_t> ends;
  for (const Gap& gap : gaps)
    if (gap.begin != piece.page_begin)
      ends.push_back(piece.address + (gap.begin - piece.page_begin));
  return ends;
}

absl::StatusOr<std::vector<uint8_t>> Read(const ByteSource& source, uint64_t begin, uint64_t end) {
  std::vector<uint8_t> bytes(end - begin);
  if (absl::Status status = source.ReadAt(begin, bytes); !status.ok()) return status;
  return bytes;
}

// How the ABI's DWARF mapping numbers what instructions number 0 to 7 (x86-64 psABI 1.0, figure
// 3.36).
constexpr std::array<u8, 8> kDwarfNumber = {0, 2, 1, 3, 7, 6, 4, 5};

void SetCfa(const LookedFrame& frame, unwind_rule* rule) {
  rule->cfa_kind = CFA_REGISTER;
  rule->cfa_offset = frame.cfa_offset;
  switch (frame.kind) {
    case LookedFrame::Kind::kRbp: rule->cfa_register = kRegisterRbp; break;
    case LookedFrame::Kind::kReg:
      rule->cfa_register = frame.reg < kDwarfNumber.size() ? kDwarfNumber[frame.reg] : frame.reg;
      break;
    case LookedFrame::Kind::kSlot:
      rule->cfa_kind = CFA_DEREF;
      rule->cfa_register = kRegisterRsp;
      rule->cfa_offset = frame.slot_offset;
      rule->cfa_add = frame.cfa_offset;
      break;
    default: rule->cfa_register = kRegisterRsp; break;
  }
}

u16 CodeOf(const LookedFrame& frame, RuleEncoder* encoder) {
  switch (frame.kind) {
    case LookedFrame::Kind::kUnknown: return kNone;
    case LookedFrame::Kind::kOutermost: return CODE_SPECIAL(SPECIAL_END);
    case LookedFrame::Kind::kSignal: return CODE_SPECIAL(SPECIAL_SIGNAL);
    case LookedFrame::Kind::kRsp:
    case LookedFrame::Kind::kRbp:
    case LookedFrame::Kind::kReg:
    case LookedFrame::Kind::kSlot: break;
  }
  unwind_rule rule = RuleOf(frame, encoder->keeps_r12());
  rule.guessed = 1;
  return encoder->CodeOfRule(rule);
}

// Rows of `gap` from those of the code around it, which begins at `looked.front()`.
void AppendGap(const Gap& gap, const GapPiece& piece, std::span<const LookedRow> looked,
               RuleEncoder* encoder, PageRows* rows) {
  const uint64_t address = piece.address + (gap.begin - piece.page_begin);
  auto row = std::ranges::upper_bound(looked, address, {}, &LookedRow::address);
  if (row != looked.begin()) --row;
  for (; row != looked.end() && row->address < address + (gap.end - gap.begin); ++row) {
    const uint64_t from = std::max(row->address, address);
    rows->Append(gap.begin + static_cast<uint32_t>(from - address), CodeOf(row->frame, encoder));
  }
  if (gap.end < PAGE_TEXT_BYTES) rows->Append(gap.end, kNone);
}

}  // namespace

unwind_rule RuleOf(const LookedFrame& frame, bool keeps_r12) {
  unwind_rule rule{};
  SetCfa(frame, &rule);
  rule.rbp_kind = frame.rbp_below_cfa == 0 ? VALUE_SAME : VALUE_AT_CFA;
  rule.rbp_offset = -frame.rbp_below_cfa;
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -8;
  rule.signal_frame = frame.exact ? 1 : 0;
  if (!keeps_r12 || frame.r12_words_below_cfa == LookedFrame::kUnknownR12) return rule;
  rule.keeps_r12 = 1;
  rule.rbx_kind = frame.r12_words_below_cfa == 0 ? VALUE_REGISTER : VALUE_AT_CFA;
  rule.rbx_offset = -8 * int32_t{frame.r12_words_below_cfa};
  return rule;
}

absl::StatusOr<bool> FillX86Gaps(const ByteSource& source, const GapPiece& piece, GapEffort effort,
                                 RuleEncoder* encoder, PageRows* rows) {
  std::vector<Gap> gaps = FindGaps(rows->rows(), piece);
  if (gaps.empty()) return true;
  // Most are padding between functions; a page has dozens of them, so one read has them all.
  const uint32_t gaps_begin = gaps.front().begin;
  const uint64_t gaps_at = piece.file_offset + (gaps_begin - piece.page_begin);
  const absl::StatusOr<std::vector<uint8_t>> bytes =
      Read(source, gaps_at, gaps_at + (gaps.back().end - gaps_begin));
  if (!bytes.ok()) return bytes.status();
  std::erase_if(gaps, [&](const Gap& gap) {
    return IsPadding(std::span(*bytes).subspan(gap.begin - gaps_begin, gap.end - gap.begin));
  });
  if (gaps.empty()) return true;
  if (effort == GapEffort::kLargeOnly && SumOf(gaps) < kLargeGapBytes) return false;
  const uint64_t piece_end = piece.file_offset + (piece.page_end - piece.page_begin);
  const uint64_t begin = std::max(piece.segment_file_begin,
                                  piece.file_offset - std::min(piece.file_offset, kBytesBefore));
  const uint64_t end = std::min(piece.segment_file_end, piece_end + kBytesAfter);
  const absl::StatusOr<std::vector<uint8_t>> code = Read(source, begin, end);
  if (!code.ok()) return code.status();
  const std::vector<uint64_t> table_ends = TableEnds(gaps, piece);
  const std::vector<LookedRow> looked = LookAtInstructions(
      *code, piece.address - (piece.file_offset - begin),
      {.entry = piece.entry, .table_ends = table_ends, .follows_r12 = encoder->keeps_r12()});
  PageRows found;
  for (const Gap& gap : gaps) AppendGap(gap, piece, looked, encoder, &found);
  rows->FillFrom(found.rows());
  return true;
}

}  // namespace stackray::cfi
