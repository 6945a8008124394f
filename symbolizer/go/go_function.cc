#include "symbolizer/go/go_function.h"

namespace stackray {
namespace {

constexpr size_t kMaxNameBytes = 4096;
constexpr uint32_t kNoData = ~uint32_t{0};

// Numbers of a function's tables (internal/abi/symtab.go; the same since Go 1.16).
constexpr uint32_t kInlinedCallValues = 2;  // PCDATA_InlTreeIndex.
constexpr uint32_t kInlinedCallData = 3;    // FUNCDATA_InlTree.

// The tables that every function's record may have at most; the runtime has less than ten of
// either.
constexpr uint32_t kMaxTables = 64;

}  // namespace

// The table of functions: pairs of (address, offset of the record), and one address more that ends
// it.
std::optional<GoReader::Entry> GoReader::EntryAt(dwarf::SectionCursor& cursor,
                                                 uint64_t number) const {
  const unsigned field_bytes = layout_.version == GoVersion::kGo116 ? 8 : 4;
  cursor.Seek(number * 2 * field_bytes);
  Entry entry{.pc = cursor.ReadSized(field_bytes) + layout_.text_address, .record = 0};
  if (number < layout_.function_count) entry.record = cursor.ReadSized(field_bytes);
  if (!cursor.ok()) return std::nullopt;
  return entry;
}

std::optional<uint64_t> GoReader::FindFunction(uint64_t elf_address) {
  dwarf::SectionCursor cursor(Part(layout_.functions), budget_);
  const std::optional<Entry> first = EntryAt(cursor, 0);
  const std::optional<Entry> end = EntryAt(cursor, layout_.function_count);
  if (!first || !end || elf_address < first->pc || elf_address >= end->pc) return std::nullopt;
  // The last that begins at the address or before.
  uint64_t low = 0, high = layout_.function_count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    const std::optional<Entry> entry = EntryAt(cursor, middle);
    if (!entry) return std::nullopt;
    (entry->pc <= elf_address ? low : high) = middle;
  }
  return low;
}

std::optional<GoFunction> GoReader::ReadFunction(uint64_t number) {
  if (number >= layout_.function_count) return std::nullopt;
  dwarf::SectionCursor cursor(Part(layout_.functions), budget_);
  const std::optional<Entry> entry = EntryAt(cursor, number);
  const std::optional<Entry> next = EntryAt(cursor, number + 1);
  if (!entry || !next || next->pc < entry->pc) return std::nullopt;
  GoFunction function{.entry = entry->pc, .size_bytes = next->pc - entry->pc};
  cursor.Seek(entry->record);
  cursor.Skip(layout_.version == GoVersion::kGo116 ? 8 : 4);  // Its address again.
  function.name = cursor.Read<uint32_t>();
  cursor.Skip(3 * sizeof(uint32_t));  // Arguments, deferred return, stack pointer's values.
  function.files = cursor.Read<uint32_t>();
  function.lines = cursor.Read<uint32_t>();
  const auto value_tables = cursor.Read<uint32_t>();
  function.unit = cursor.Read<uint32_t>();
  if (layout_.version == GoVersion::kGo120) function.start_line = cursor.Read<uint32_t>();
  cursor.Skip(3);  // What kind of function it is.
  const auto data_tables = cursor.Read<uint8_t>();
  if (!cursor.ok()) return std::nullopt;
  ReadInlining(cursor, value_tables, data_tables, &function);
  return function;
}

// From behind the record's fixed part: offsets of value tables, then of data.
void GoReader::ReadInlining(dwarf::SectionCursor& cursor, uint32_t value_tables,
                            uint32_t data_tables, GoFunction* function) {
  if (layout_.inline_data.size_bytes == 0 || value_tables > kMaxTables ||
      value_tables <= kInlinedCallValues || data_tables <= kInlinedCallData)
    return;
  const uint64_t tables = cursor.position();
  cursor.Seek(tables + kInlinedCallValues * sizeof(uint32_t));
  function->inlined = cursor.Read<uint32_t>();
  uint64_t data = tables + uint64_t{value_tables} * sizeof(uint32_t);
  if (layout_.version != GoVersion::kGo116) {
    cursor.Seek(data + kInlinedCallData * sizeof(uint32_t));
    const auto offset = cursor.Read<uint32_t>();
    function->has_calls = cursor.ok() && offset != kNoData;
    function->calls = offset;
    return;
  }
  // Addresses, on the next 8 bytes.
  data = (data + 7) & ~uint64_t{7};
  cursor.Seek(data + kInlinedCallData * sizeof(uint64_t));
  const auto address = cursor.Read<uint64_t>();
  function->has_calls = cursor.ok() && address >= layout_.inline_base && address != 0;
  function->calls = address - layout_.inline_base;
}

// Pairs of numbers: by how much the value grows, and for how many instructions it then holds.
std::optional<int32_t> GoReader::ValueAt(uint32_t table, uint64_t pc) {
  if (table == 0) return std::nullopt;
  dwarf::SectionCursor cursor(Part(layout_.values), budget_, table);
  uint64_t end = 0;
  uint32_t value = ~uint32_t{0};
  for (bool first = true; budget_.Spend(1); first = false) {
    const auto change = static_cast<uint32_t>(cursor.ReadUleb());
    if (!cursor.ok() || (change == 0 && !first)) return std::nullopt;
    value += (change & 1) != 0 ? ~(change >> 1) : change >> 1;
    end += cursor.ReadUleb() * layout_.quantum;
    if (!cursor.ok()) return std::nullopt;
    if (pc < end) return static_cast<int32_t>(value);
  }
  return std::nullopt;
}

std::string GoReader::Name(uint32_t offset) {
  dwarf::SectionCursor cursor(Part(layout_.names), budget_, offset);
  return cursor.ReadString(kMaxNameBytes);
}

std::string GoReader::FileName(const GoFunction& function, int32_t file) {
  const uint64_t index = uint64_t{function.unit} + static_cast<uint32_t>(file);
  dwarf::SectionCursor units(Part(layout_.units), budget_, index * sizeof(uint32_t));
  const auto offset = units.Read<uint32_t>();
  if (!units.ok() || offset == kNoData) return {};
  dwarf::SectionCursor files(Part(layout_.files), budget_, offset);
  return files.ReadString(kMaxNameBytes);
}

SourceLine GoReader::PlaceAt(const GoFunction& function, uint64_t pc) {
  SourceLine place;
  const std::optional<int32_t> file = ValueAt(function.files, pc);
  const std::optional<int32_t> line = ValueAt(function.lines, pc);
  if (!file || *file < 0 || !line || *line <= 0) return place;
  place.file = FileName(function, *file);
  if (!place.file.empty()) place.line = *line;
  return place;
}

std::optional<GoInlinedCall> GoReader::InlinedCallAt(const GoFunction& function, uint64_t pc) {
  if (!function.has_calls) return std::nullopt;
  const std::optional<int32_t> number = ValueAt(function.inlined, pc);
  if (!number || *number < 0) return std::nullopt;
  const bool is_small = layout_.version == GoVersion::kGo120;
  const uint64_t call_bytes = is_small ? 16 : 20;
  dwarf::SectionCursor cursor(Part(layout_.inline_data), budget_,
                              function.calls + static_cast<uint64_t>(*number) * call_bytes);
  cursor.Skip(is_small ? 4 : 12);  // Kind; before Go 1.20 also its parent's number, file and line.
  GoInlinedCall call;
  call.name = cursor.Read<uint32_t>();
  call.parent_pc = cursor.Read<uint32_t>();
  if (is_small) call.start_line = cursor.Read<uint32_t>();
  if (!cursor.ok() || call.parent_pc >= function.size_bytes) return std::nullopt;
  return call;
}

}  // namespace stackray
