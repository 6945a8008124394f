#include "symbolizer/cfi/switch_tables.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "symbolizer/cfi/x86_instruction.h"

namespace stackray::cfi {
namespace {

constexpr size_t kLeaBytes = 7;
constexpr int kMostBetween = 8;  // Instructions from the `lea` to the jump.
constexpr int32_t kFarthestCase = 1 << 20;

int32_t Word(std::span<const uint8_t> code, size_t at) {
  int32_t word = 0;
  std::memcpy(&word, code.data() + at, sizeof(word));
  return word;
}

bool IsRex(uint8_t byte) { return (byte & 0xf8) == 0x48; }  // With W.

// lea disp32(%rip), %r64
bool IsLeaOfRip(std::span<const uint8_t> code, size_t at) {
  return at + kLeaBytes <= code.size() && IsRex(code[at]) && code[at + 1] == 0x8d &&
         (code[at + 2] & 0xc7) == 0x05;
}

// Bytes of an entry; 0: the instruction reads none.
size_t EntryBytes(std::span<const uint8_t> instruction) {
  if (instruction.size() < 4 || !IsRex(instruction[0])) return 0;
  if (instruction[1] == 0x63) return 4;  // movslq
  const bool is_sar = instruction[1] == 0xc1 && (instruction[2] & 0xf8) == 0xf8;
  return is_sar && instruction[3] == 32 ? 8 : 0;
}

struct Jump {
  size_t at = 0, end = 0;
  size_t entry_bytes = 0;
};

// The indirect jump behind the `lea`, where an entry was read before it.
std::optional<Jump> JumpBehind(std::span<const uint8_t> code, size_t at) {
  Jump jump;
  for (int i = 0; i < kMostBetween && at < code.size(); ++i) {
    const X86Instruction instruction = DecodeX86(code.subspan(at), at);
    if (instruction.length == 0) return std::nullopt;
    if (instruction.flow == FlowEffect::kIndirectJump) {
      if (jump.entry_bytes == 0) return std::nullopt;
      jump.at = at;
      jump.end = at + instruction.length;
      return jump;
    }
    if (instruction.flow != FlowEffect::kNext && instruction.flow != FlowEffect::kBranch)
      return std::nullopt;
    jump.entry_bytes = std::max(jump.entry_bytes, EntryBytes(code.subspan(at, instruction.length)));
    at += instruction.length;
  }
  return std::nullopt;
}

// It ends where a case begins, or where what is read leads nowhere.
SwitchTable ReadTable(std::span<const uint8_t> code, const Jump& jump, size_t begin) {
  SwitchTable table{.jump = jump.at, .begin = begin, .end = begin};
  size_t limit = code.size();
  while (table.end + jump.entry_bytes <= limit && table.cases.size() < SwitchTable::kMostCases) {
    const int32_t offset = Word(code, table.end + jump.entry_bytes - sizeof(int32_t));
    const int64_t target = static_cast<int64_t>(begin) + offset;
    const bool leads_on = offset > -kFarthestCase && offset < kFarthestCase && offset != 0 &&
                          target >= 0 && target < static_cast<int64_t>(code.size());
    if (!leads_on) break;
    const auto at = static_cast<size_t>(target);
    if (at >= begin && at < table.end + jump.entry_bytes) break;
    table.end += jump.entry_bytes;
    if (at >= begin) limit = std::min(limit, at);
    table.cases.push_back(static_cast<uint32_t>(at));
  }
  return table;
}

}  // namespace

std::vector<SwitchTable> FindSwitchTables(std::span<const uint8_t> code) {
  std::vector<SwitchTable> tables;
  for (size_t at = 0; at + kLeaBytes <= code.size(); ++at) {
    if (!IsLeaOfRip(code, at)) continue;
    const int64_t target = static_cast<int64_t>(at + kLeaBytes) + Word(code, at + 3);
    if (target < 0 || target >= static_cast<int64_t>(code.size())) continue;
    const std::optional<Jump> jump = JumpBehind(code, at + kLeaBytes);
    if (!jump || (!tables.empty() && tables.back().jump >= jump->at)) continue;
    SwitchTable table = ReadTable(code, *jump, static_cast<size_t>(target));
    if (table.cases.size() >= 2) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace stackray::cfi
