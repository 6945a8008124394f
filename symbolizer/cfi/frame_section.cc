#include "symbolizer/cfi/frame_section.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <span>

#include "symbolizer/cfi/pointer_encoding.h"

namespace stackray::cfi {
namespace {

constexpr uint64_t kMaxHeaderBytes = 64;
constexpr uint64_t kMaxTableEntries = 8 << 20;

// The bytes of the file in the segment around `address`, with their addresses.
std::optional<FrameRegion> SegmentAround(const ByteSource& source, const ElfImage& elf,
                                         uint64_t address) {
  for (const ElfSegment& segment : elf.segments()) {
    if (segment.file_offset >= source.size_bytes()) continue;
    const uint64_t bytes = std::min(segment.file_bytes, source.size_bytes() - segment.file_offset);
    if (address < segment.address || address - segment.address >= bytes) continue;
    FrameRegion region;
    region.file_offset = segment.file_offset;
    region.address = segment.address;
    region.size_bytes = bytes;
    region.scan_begin = address - segment.address;
    region.scan_end = bytes;
    return region;
  }
  return std::nullopt;
}

struct ParsedHeader {
  uint64_t eh_frame_address = 0;
  std::optional<HeaderTableLocation> table;
};

std::optional<ParsedHeader> ParseHeader(std::span<const uint8_t> bytes, uint64_t address) {
  ByteCursor cursor(bytes);
  const auto field_bases = [&] {
    return PointerBases{.field_address = address + (bytes.size() - cursor.remaining_bytes()),
                        .data_address = address};
  };
  const uint8_t version = cursor.Read<uint8_t>();
  const uint8_t frame_encoding = cursor.Read<uint8_t>();
  const uint8_t count_encoding = cursor.Read<uint8_t>();
  const uint8_t table_encoding = cursor.Read<uint8_t>();
  if (version != 1) return std::nullopt;
  const std::optional<uint64_t> frame = ReadEncodedPointer(cursor, frame_encoding, field_bases());
  if (!frame) return std::nullopt;
  ParsedHeader header;
  header.eh_frame_address = *frame;
  if (count_encoding == DW_EH_PE_omit || table_encoding == DW_EH_PE_omit ||
      EncodedPointerBytes(table_encoding) == 0)
    return header;
  const std::optional<uint64_t> count = ReadEncodedPointer(cursor, count_encoding, field_bases());
  if (!count || *count == 0 || *count > kMaxTableEntries) return header;
  HeaderTableLocation table;
  table.header_address = address;
  table.table_address = field_bases().field_address;
  table.entry_count = *count;
  table.encoding = table_encoding;
  header.table = table;
  return header;
}

std::optional<FrameSection> FromHeader(const ByteSource& source, const ElfImage& elf,
                                       uint64_t header_address) {
  const std::optional<FrameRegion> around = SegmentAround(source, elf, header_address);
  if (!around) return std::nullopt;
  const uint64_t position = header_address - around->address;
  std::array<uint8_t, kMaxHeaderBytes> buffer;
  const std::span<uint8_t> bytes =
      std::span(buffer).first(std::min(kMaxHeaderBytes, around->size_bytes - position));
  if (!source.ReadAt(around->file_offset + position, bytes).ok()) return std::nullopt;
  std::optional<ParsedHeader> header = ParseHeader(bytes, header_address);
  if (!header) return std::nullopt;
  const std::optional<FrameRegion> region = SegmentAround(source, elf, header->eh_frame_address);
  if (!region) return std::nullopt;
  FrameSection section{*region, header->table};
  if (section.table) {
    const uint64_t table_position = section.table->table_address - around->address;
    const uint64_t table_bytes =
        section.table->entry_count * 2 * EncodedPointerBytes(section.table->encoding);
    section.table->file_offset = around->file_offset + table_position;
    if (table_position > around->size_bytes || table_bytes > around->size_bytes - table_position)
      section.table.reset();
  }
  return section;
}

std::optional<FrameRegion> FromSection(const ByteSource& source, const ElfSection* section) {
  if (section == nullptr || section->type == SHT_NOBITS || section->size_bytes == 0 ||
      section->file_offset >= source.size_bytes())
    return std::nullopt;
  FrameRegion region;
  region.file_offset = section->file_offset;
  region.address = section->address;
  region.size_bytes = std::min(section->size_bytes, source.size_bytes() - section->file_offset);
  region.scan_end = region.size_bytes;
  region.end_is_known = true;
  return region;
}

std::optional<uint64_t> HeaderAddress(const ElfImage& elf) {
  if (elf.eh_frame_header_address()) return elf.eh_frame_header_address();
  const ElfSection* section = elf.FindSection(".eh_frame_hdr");
  if (section != nullptr && section->type != SHT_NOBITS && section->address != 0)
    return section->address;
  return std::nullopt;
}

std::optional<FrameSection> FindSection(const ByteSource& source, const ElfImage& elf) {
  const ElfSection* eh_frame = elf.FindSection(".eh_frame");
  if (const std::optional<uint64_t> address = HeaderAddress(elf)) {
    std::optional<FrameSection> section = FromHeader(source, elf, *address);
    if (section) {
      FrameRegion& region = section->region;
      if (eh_frame != nullptr && eh_frame->address == region.address + region.scan_begin &&
          eh_frame->size_bytes <= region.size_bytes - region.scan_begin) {
        region.scan_end = region.scan_begin + eh_frame->size_bytes;
        region.end_is_known = true;
      }
      return section;
    }
  }
  if (const std::optional<FrameRegion> region = FromSection(source, eh_frame))
    return FrameSection{*region, std::nullopt};
  return FindDebugFrame(source, elf);
}

}  // namespace

std::optional<FrameSection> FindDebugFrame(const ByteSource& source, const ElfImage& elf) {
  const ElfSection* debug_frame = elf.FindSection(".debug_frame");
  std::optional<FrameRegion> region = FromSection(source, debug_frame);
  if (!region) return std::nullopt;
  region->address = 0;
  region->is_debug_frame = true;
  if (const Machine* machine = Machine::Of(elf.machine()); machine != nullptr)
    region->machine = machine;
  region->compressed = (debug_frame->flags & SHF_COMPRESSED) != 0;
  return FrameSection{*region, std::nullopt};
}

std::optional<FrameSection> FindFrameSection(const ByteSource& source, const ElfImage& elf) {
  const Machine* machine = Machine::Of(elf.machine());
  if (machine == nullptr) return std::nullopt;
  std::optional<FrameSection> section = FindSection(source, elf);
  if (section) section->region.machine = machine;
  return section;
}

}  // namespace stackray::cfi
