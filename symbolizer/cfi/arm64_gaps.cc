#include "symbolizer/cfi/arm64_gaps.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "symbolizer/cfi/arm64_scan.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr uint32_t kInstructionBytes = 4;
constexpr uint64_t kSignalReturn = 0xd4000001d2801168;  // As in bpf/shared/arch_arm64.h.
constexpr uint32_t kPushX16X30 = 0xa9bf7bf0;            // stp x16, x30, [sp, #-16]!
constexpr uint64_t kFirstStubBytes = 32;
constexpr uint64_t kMaxSymbolBytes = 64 << 10;
// CFA sp + 0, the return address in x30; the same behind the push.
constexpr u16 kLeaf = ARM64_BASE_SP << CODE_BASE_SHIFT;
constexpr u16 kPushed =
    ARM64_BASE_LR_ALONE << CODE_BASE_SHIFT | 16 / ARM64_CFA_UNIT;  // At CFA - 8.

struct Gap {
  uint32_t begin = 0, end = 0;  // In the page.
};

std::vector<Gap> FindGaps(const TextPiece& piece, const PageRows& rows) {
  std::vector<Gap> gaps;
  const std::span<const PageRow> all = rows.rows();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].code != kNone) continue;
    const uint32_t row_end = i + 1 < all.size() ? all[i + 1].offset : PAGE_TEXT_BYTES;
    const Gap gap{std::max<uint32_t>(all[i].offset, piece.begin), std::min(row_end, piece.end)};
    if (gap.begin + 2 * kInstructionBytes <= gap.end) gaps.push_back(gap);
  }
  return gaps;
}

class GapFiller {
 public:
  GapFiller(const TextPiece& piece, std::span<const uint8_t> text, PageRows* rows)
      : piece_(piece), text_(text), rows_(rows) {}

  void FillStubs(const Gap& gap, const Arm64Stubs& stubs) {
    const uint64_t begin = std::max(stubs.begin, AddressOf(gap.begin));
    const uint64_t end = std::min(stubs.end, AddressOf(gap.end));
    if (begin >= end) return;
    rows_->Overwrite(OffsetOf(begin), OffsetOf(end), kLeaf);
    for (uint64_t at = begin; at < std::min(end, stubs.begin + kFirstStubBytes);
         at += kInstructionBytes)
      if (Load<uint32_t>(OffsetOf(at)) == kPushX16X30 && at + kInstructionBytes < end)
        rows_->Overwrite(OffsetOf(at + kInstructionBytes),
                         OffsetOf(std::min(end, stubs.begin + kFirstStubBytes)), kPushed);
  }

  // A handler "returns" to the first instruction, and rules are looked up one byte before: the rule
  // begins there.
  void FillSignalReturn(const Gap& gap) {
    const uint32_t first = (gap.begin + kInstructionBytes - 1) / kInstructionBytes;
    for (uint32_t at = first * kInstructionBytes; at + 8 <= gap.end; at += kInstructionBytes)
      if (Load<uint64_t>(at) == kSignalReturn)
        rows_->Overwrite(std::max(gap.begin, at - std::min(at, kInstructionBytes)), at + 8,
                         CODE_SPECIAL(SPECIAL_SIGNAL));
  }

 private:
  uint64_t AddressOf(uint32_t offset) const { return piece_.address + (offset - piece_.begin); }
  uint32_t OffsetOf(uint64_t address) const {
    return piece_.begin + static_cast<uint32_t>(address - piece_.address);
  }
  template <typename T>
  T Load(uint32_t offset) const {
    T value = 0;
    if (offset - piece_.begin + sizeof(T) <= text_.size())
      std::memcpy(&value, text_.data() + (offset - piece_.begin), sizeof(T));
    return value;
  }

  const TextPiece& piece_;
  std::span<const uint8_t> text_;
  PageRows* rows_;
};

}  // namespace

std::optional<Arm64Stubs> FindArm64Stubs(const ElfImage& elf) {
  if (elf.machine() != EM_AARCH64) return std::nullopt;
  const ElfSection* section = elf.FindSection(".plt");
  if (section == nullptr || section->type == SHT_NOBITS ||
      section->address + section->size_bytes < section->address)
    return std::nullopt;
  return Arm64Stubs{section->address, section->address + section->size_bytes};
}

absl::StatusOr<std::vector<uint64_t>> FindArm64Functions(const ByteSource& source,
                                                         const ElfImage& elf) {
  std::vector<uint64_t> functions;
  const ElfSection* section = elf.FindSection(".dynsym");
  if (elf.machine() != EM_AARCH64 || section == nullptr || section->type != SHT_DYNSYM)
    return functions;
  const absl::StatusOr<std::vector<uint8_t>> bytes =
      source.Read(section->file_offset, section->size_bytes, kMaxSymbolBytes);
  if (!bytes.ok()) return bytes.status();
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= bytes->size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, bytes->data() + at, sizeof(symbol));
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      functions.push_back(symbol.st_value);
  }
  return functions;
}

absl::Status FillArm64Gaps(const ByteSource& source, const TextPiece& piece,
                           const std::optional<Arm64Stubs>& stubs,
                           std::span<const uint64_t> functions, PageRows* rows) {
  const std::vector<Gap> gaps = FindGaps(piece, *rows);
  if (gaps.empty()) return absl::OkStatus();
  std::vector<uint8_t> text(piece.end - piece.begin);
  if (absl::Status status = source.ReadAt(piece.file_offset, text); !status.ok()) return status;
  GapFiller filler(piece, text, rows);
  for (const Gap& gap : gaps) {
    if (stubs) filler.FillStubs(gap, *stubs);
    filler.FillSignalReturn(gap);
  }
  if (!functions.empty()) ScanArm64Functions(piece, text, functions, rows);
  return absl::OkStatus();
}

}  // namespace stackray::cfi
