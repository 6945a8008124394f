#include "interpreters/v8/position_table.h"

#include <algorithm>
#include <limits>

#include "interpreters/process_memory.h"

namespace stackray::v8 {
namespace {

// Numbers of seven bits a byte, the lowest first; the eighth bit says that more follow.
class Numbers {
 public:
  explicit Numbers(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }

  std::optional<uint64_t> Next() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const uint8_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  // The sign is the lowest bit.
  std::optional<int64_t> NextSigned() {
    const std::optional<uint64_t> value = Next();
    if (!value) return std::nullopt;
    return static_cast<int64_t>(*value >> 1) ^ -static_cast<int64_t>(*value & 1);
  }

 private:
  std::span<const uint8_t> bytes_;
};

struct CodeDelta {
  int64_t delta = 0;
  bool is_source_absolute = false;
};

std::optional<CodeDelta> NextCode(Numbers& numbers, PositionEncoding encoding) {
  constexpr uint64_t kIsAbsolute = 4;
  if (encoding == PositionEncoding::kSigned) {
    const std::optional<int64_t> value = numbers.NextSigned();
    if (!value) return std::nullopt;
    return CodeDelta{*value >= 0 ? *value : -(*value + 1)};
  }
  const std::optional<uint64_t> value = numbers.Next();
  if (!value) return std::nullopt;
  if (encoding == PositionEncoding::kUnsigned) return CodeDelta{static_cast<int64_t>(*value >> 2)};
  return CodeDelta{static_cast<int64_t>(*value >> 3), (*value & kIsAbsolute) != 0};
}

// With its prefix, behind which operands are wider.
std::optional<uint32_t> BytesOfBytecode(std::span<const uint8_t> bytecodes, size_t at,
                                        const V8Layout& layout) {
  size_t scale = 0, prefix = 0;
  uint8_t code = bytecodes[at];
  if (code <= 3) {  // Wide, ExtraWide, and their twins at a breakpoint.
    scale = (code & 1) != 0 ? 2 : 1;
    prefix = 1;
    if (at + 1 >= bytecodes.size()) return std::nullopt;
    code = bytecodes[at + 1];
  }
  const std::vector<uint8_t>& sizes = layout.bytecode_sizes[scale];
  if (code >= sizes.size()) return std::nullopt;
  return static_cast<uint32_t>(prefix + sizes[code]);
}

// How the entries of a table of safepoints are written: a pc, a number, the exit, and other things.
struct SafepointEntries {
  uint32_t count = 0;
  uint32_t entry_bytes = 0, pc_bytes = 0, exit_at = 0;
  uint32_t bias = 0;  // What is added to an exit.
};

SafepointEntries EntriesOf(std::span<const uint8_t> header, const SafepointForm& form) {
  if (header.size() < form.header_bytes || form.header_bytes == 0) return {};
  SafepointEntries entries{.count = NumberAt<uint32_t>(header, form.length_at)};
  if (form.is_wide) {
    entries.entry_bytes = 12;
    entries.pc_bytes = 4;
    entries.exit_at = 8;
    return entries;
  }
  // One bit says whether there are exits; then three bits each say how many bytes the parts have.
  const auto widths = NumberAt<uint32_t>(header, form.length_at + 4U);
  const uint32_t registers = widths >> 1 & 7, pc = widths >> 4 & 7, number = widths >> 7 & 7;
  if ((widths & 1) == 0 || pc == 0 || pc > 4 || number > 4 || registers > 4) return {};
  entries.pc_bytes = pc;
  entries.exit_at = pc + number;
  entries.entry_bytes = 2 * pc + number + registers + form.extra_bytes;
  entries.bias = 1;
  return entries;
}

uint32_t ShortNumber(std::span<const uint8_t> bytes, uint32_t count) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < count; ++i) value |= uint32_t{bytes[i]} << (8 * i);
  return value;
}

}  // namespace

SourcePosition SourcePosition::Of(uint64_t raw) {
  constexpr uint64_t kIsExternal = 1;
  SourcePosition position;
  position.inlined = static_cast<int32_t>(raw >> 31 & 0xffff) - 1;
  if ((raw & kIsExternal) == 0)
    position.script_offset = static_cast<int32_t>(raw >> 1 & 0x3fffffff) - 1;
  return position;
}

std::vector<PositionEntry> ReadPositions(std::span<const uint8_t> table,
                                         PositionEncoding encoding) {
  std::vector<PositionEntry> entries;
  Numbers numbers(table);
  int64_t code = -1;
  uint64_t raw = 0;
  while (!numbers.is_at_end() && entries.size() < kMostPositions) {
    const std::optional<CodeDelta> next = NextCode(numbers, encoding);
    const std::optional<int64_t> source = numbers.NextSigned();
    if (!next || !source || next->delta > std::numeric_limits<int32_t>::max() - code) break;
    code += next->delta;
    raw = (next->is_source_absolute ? 0 : raw) + static_cast<uint64_t>(*source);
    entries.push_back({static_cast<int32_t>(code), SourcePosition::Of(raw)});
  }
  return entries;
}

const PositionEntry* FindPosition(std::span<const PositionEntry> entries, int32_t code_offset) {
  const auto next = std::ranges::upper_bound(entries, code_offset, {}, &PositionEntry::code_offset);
  return next == entries.begin() ? nullptr : &*std::prev(next);
}

std::optional<int32_t> BytecodeOfBaseline(std::span<const uint8_t> offset_table,
                                          std::span<const uint8_t> bytecodes,
                                          const V8Layout& layout, uint32_t code_offset) {
  Numbers numbers(offset_table);
  // The first entry is the prologue's.
  const std::optional<uint64_t> prologue = numbers.Next();
  if (!prologue) return std::nullopt;
  if (code_offset < *prologue) return -1;
  uint64_t end = *prologue;
  for (size_t at = 0; at < bytecodes.size();) {
    const std::optional<uint64_t> length = numbers.Next();
    const std::optional<uint32_t> bytes = BytesOfBytecode(bytecodes, at, layout);
    if (!length || !bytes || *length > std::numeric_limits<uint32_t>::max()) return std::nullopt;
    end += *length;
    if (code_offset < end) return static_cast<int32_t>(at);
    at += *bytes;
  }
  return std::nullopt;
}

size_t BytesOfSafepoints(std::span<const uint8_t> header, const SafepointForm& form) {
  const SafepointEntries entries = EntriesOf(header, form);
  const uint64_t bytes = form.header_bytes + uint64_t{entries.count} * entries.entry_bytes;
  return entries.count == 0 || bytes > kMostSafepointBytes ? 0 : static_cast<size_t>(bytes);
}

std::optional<uint32_t> PlannedReturn(std::span<const uint8_t> table, const SafepointForm& form,
                                      uint32_t address) {
  const SafepointEntries entries = EntriesOf(table, form);
  if (entries.entry_bytes == 0) return std::nullopt;
  table = table.subspan(form.header_bytes);
  for (uint32_t i = 0; i < entries.count && table.size() >= entries.entry_bytes; ++i) {
    const uint32_t planned = ShortNumber(table, entries.pc_bytes);
    if (planned == address ||
        ShortNumber(table.subspan(entries.exit_at), entries.pc_bytes) == address + entries.bias)
      return planned;
    table = table.subspan(entries.entry_bytes);
  }
  return std::nullopt;
}

}  // namespace stackray::v8
