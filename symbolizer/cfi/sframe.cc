#include "symbolizer/cfi/sframe.h"

#include <algorithm>
#include <array>

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr u16 kUnsupported = CODE_SPECIAL(SPECIAL_UNSUPPORTED);
constexpr int64_t kPageBudget = 1 << 20;
constexpr uint64_t kMaxUnsortedFunctions = 1 << 20;
constexpr size_t kWindows = 2, kWindowBytes = 8 << 10;
constexpr uint64_t kAttributeBytes = 5;  // Of version 3, before the rows.

struct Region {
  uint64_t file_offset = 0, size_bytes = 0, address = 0;
};

std::optional<Region> FindRegion(const ElfImage& elf, const ByteSource& source) {
  Region region;
  if (const ElfSection* section = elf.FindSection(".sframe");
      section != nullptr && section->type != SHT_NOBITS) {
    region = {section->file_offset, section->size_bytes, section->address};
  } else if (elf.sframe_address()) {
    region.address = *elf.sframe_address();
    for (const ElfSegment& segment : elf.segments()) {
      if (region.address < segment.address ||
          region.address - segment.address >= segment.file_bytes)
        continue;
      const uint64_t before = region.address - segment.address;
      region.file_offset = segment.file_offset + before;
      region.size_bytes = segment.file_bytes - before;
      break;
    }
  }
  if (region.size_bytes < SframeHeader::kBytes || region.file_offset >= source.size_bytes())
    return std::nullopt;
  region.size_bytes = std::min(region.size_bytes, source.size_bytes() - region.file_offset);
  return region;
}

}  // namespace

std::unique_ptr<SframeTable> SframeTable::Create(const ElfImage& elf, const ByteSource& source) {
  const Machine* machine = Machine::Of(elf.machine());
  const std::optional<Region> region = FindRegion(elf, source);
  if (machine == nullptr || !region) return nullptr;
  std::array<uint8_t, SframeHeader::kBytes> bytes;
  if (region->size_bytes < bytes.size() || !source.ReadAt(region->file_offset, bytes).ok())
    return nullptr;
  const std::optional<SframeHeader> header = ParseSframeHeader(bytes, region->size_bytes, *machine);
  if (!header || header->function_count == 0) return nullptr;
  return std::unique_ptr<SframeTable>(
      new SframeTable(source, region->file_offset, region->size_bytes, region->address, *header));
}

SframeTable::SframeTable(const ByteSource& source, uint64_t file_offset, uint64_t size_bytes,
                         uint64_t address, const SframeHeader& header)
    : header_(header),
      address_(address),
      functions_(&source, file_offset, size_bytes, kWindows, kWindowBytes),
      rows_(&source, file_offset + header.rows_begin, header.rows_bytes, kWindows, kWindowBytes) {}

std::optional<uint64_t> SframeTable::AddressOf(uint64_t position) {
  const uint64_t at = header_.functions_begin + position * header_.function_bytes();
  const uint64_t bytes = header_.version == 3 ? 8 : 4;
  const uint8_t* begin = functions_.Get(at, bytes);
  if (begin == nullptr) return std::nullopt;
  ByteCursor cursor(std::span(begin, bytes));
  const auto offset =
      static_cast<uint64_t>(bytes == 8 ? cursor.Read<int64_t>() : int64_t{cursor.Read<int32_t>()});
  return address_ + (header_.starts_at_field ? at : 0) + offset;
}

std::optional<SframeFunction> SframeTable::ReadFunction(uint64_t index) {
  const uint64_t position = order_ ? (*order_)[index] : index;
  const std::optional<uint64_t> address = AddressOf(position);
  const uint64_t at = header_.functions_begin + position * header_.function_bytes();
  const uint8_t* bytes = functions_.Get(at, header_.function_bytes());
  if (!address || bytes == nullptr) return std::nullopt;
  ByteCursor cursor(std::span(bytes, header_.function_bytes()));
  cursor.Take(header_.version == 3 ? 8 : 4);
  SframeFunction function;
  function.begin = *address;
  function.size_bytes = cursor.Read<uint32_t>();
  function.rows_begin = cursor.Read<uint32_t>();
  if (header_.version < 3 && !ParseSframeAttributes(cursor, header_, &function))
    function.address_bytes = 0;
  return function;
}

// Version 3 has them before the rows.
bool SframeTable::ReadAttributes(SframeFunction* function) {
  if (header_.version < 3) return function->address_bytes != 0;
  const uint8_t* bytes = rows_.Get(function->rows_begin, kAttributeBytes);
  if (bytes == nullptr) return false;
  function->rows_begin += kAttributeBytes;
  return ParseSframeAttributes(ByteCursor(std::span(bytes, kAttributeBytes)), header_, function);
}

void SframeTable::SortFunctions() {
  struct Packed {
    uint64_t address;
    uint32_t position;
  };
  std::vector<Packed> found;
  const uint64_t count = std::min(header_.function_count, kMaxUnsortedFunctions);
  for (uint64_t i = 0; i < count; ++i) {
    const std::optional<uint64_t> address = AddressOf(i);
    if (!address) break;
    found.push_back({*address, static_cast<uint32_t>(i)});
  }
  if (!functions_.status().ok()) return;  // Again with the next page.
  std::ranges::stable_sort(found, {}, &Packed::address);
  order_.emplace();
  order_->reserve(found.size());
  for (const Packed& packed : found) order_->push_back(packed.position);
}

// How many functions begin at or below `address`.
std::optional<uint64_t> SframeTable::CountUpTo(uint64_t address) {
  uint64_t low = 0, high = order_ ? order_->size() : header_.function_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const std::optional<uint64_t> begin = AddressOf(order_ ? (*order_)[middle] : middle);
    if (!begin) return std::nullopt;
    if (*begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

absl::Status SframeTable::AppendRows(const Piece& piece, RuleEncoder* encoder, PageRows* rows) {
  functions_.ClearStatus();
  rows_.ClearStatus();
  budget_ = kPageBudget;
  if (!header_.sorted && !order_) SortFunctions();
  const std::optional<uint64_t> count = CountUpTo(piece.begin);
  const uint64_t end = !count ? 0 : order_ ? order_->size() : header_.function_count;
  uint64_t previous = 0;
  for (uint64_t i = std::max(count.value_or(0), uint64_t{1}) - 1; i < end; ++i) {
    std::optional<SframeFunction> function = ReadFunction(i);
    if (!function || function->begin < previous || function->begin >= piece.end || --budget_ < 0)
      break;
    previous = function->begin;
    const uint64_t function_end = function->begin + function->size_bytes;
    if (function_end <= piece.begin || function_end <= function->begin) continue;
    const uint32_t offset = piece.OffsetOf(function->begin);
    rows->Truncate(offset);
    rows->Append(offset, kNone);
    if (!ReadAttributes(&*function) || !AppendFunction(*function, piece, encoder, rows)) {
      rows->Truncate(offset);  // How far its last row goes is not known.
      rows->Append(offset, kNone);
    }
    if (function_end < piece.end) rows->Append(piece.OffsetOf(function_end), kNone);
  }
  return functions_.status().ok() ? rows_.status() : functions_.status();
}

bool SframeTable::AppendFunction(const SframeFunction& function, const Piece& piece,
                                 RuleEncoder* encoder, PageRows* rows) {
  const uint64_t end = function.begin + function.size_bytes;
  if (function.is_outermost) {
    rows->Append(piece.OffsetOf(function.begin), CODE_SPECIAL(SPECIAL_END));
    return true;
  }
  if (!function.repeats) return AppendBlock(function, function.begin, end, piece, encoder, rows);
  const uint64_t block = function.block_bytes;
  uint64_t begin = function.begin;
  if (begin < piece.begin) begin += (piece.begin - begin) / block * block;
  for (; begin < std::min(end, piece.end); begin += block)
    if (!AppendBlock(function, begin, std::min(end, begin + block), piece, encoder, rows))
      return false;
  return true;
}

// A stub of a linker is called at its first byte, so that only the return address is on the stack
// there. GNU ld (2.44 to 2.47) says otherwise of .plt.got's.
bool SframeTable::IsStubsEntry(const SframeRow& row) const {
  return header_.machine->is_arm64() ||
         (row.state.cfa.base_register == kRegisterRsp && row.state.cfa.offset == 8);
}

// The function's rows, counted from `begin`.
bool SframeTable::AppendBlock(const SframeFunction& function, uint64_t begin, uint64_t end,
                              const Piece& piece, RuleEncoder* encoder, PageRows* rows) {
  uint64_t position = function.rows_begin, previous = 0;
  SframeRow row;
  for (uint32_t i = 0; i < function.row_count; ++i) {
    if (position >= header_.rows_bytes || --budget_ < 0) return false;
    const uint64_t bytes = std::min(kMaxSframeRowBytes, header_.rows_bytes - position);
    const uint8_t* at = rows_.Get(position, bytes);
    if (at == nullptr) return false;
    ByteCursor cursor(std::span(at, bytes));
    if (!ReadSframeRow(header_, function, cursor, &row) || row.begin < previous) return false;
    if (i == 0 && function.repeats && !IsStubsEntry(row)) return false;
    position += bytes - cursor.remaining_bytes();
    previous = row.begin;
    if (row.begin >= end - begin || begin + row.begin >= piece.end) return true;
    const u16 code =
        row.usable ? encoder->Encode(row.state, function.is_signal_frame) : kUnsupported;
    rows->Append(piece.OffsetOf(begin + row.begin), code);
  }
  return true;
}

size_t SframeTable::memory_bytes() const {
  return sizeof(*this) + functions_.memory_bytes() + rows_.memory_bytes() +
         (order_ ? order_->capacity() * sizeof(uint32_t) : 0);
}

}  // namespace stackray::cfi
