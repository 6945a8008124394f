#include "symbolizer/go/go_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "symbolizer/build_id.h"
#include "symbolizer/go/pointers.h"

namespace stackray {
namespace {

constexpr uint64_t kMaxScanBytes = 256 << 20;
constexpr size_t kWindowBytes = 64 << 10;
constexpr uint64_t kTableAlign = 8;
constexpr uint64_t kMaxFunctions = 16 << 20;

// The header: 8 bytes of kind, then words.
constexpr size_t kMagicBytes = 8, kHeaderWords = 8;
constexpr size_t kHeaderBytes = kMagicBytes + kHeaderWords * sizeof(uint64_t);

// Words of the module's description (moduledata).
constexpr size_t kNamesPointer = 1, kFirstPc = 20, kEndPc = 21, kTextStart = 22;
constexpr size_t kModuleWords = 41;
size_t InlineBaseWord(GoVersion version) { return version == GoVersion::kGo120 ? 40 : 38; }

struct Header {
  GoVersion version;
  uint8_t quantum;
  std::array<uint64_t, kHeaderWords> words;

  uint64_t function_count() const { return words[0]; }
  uint64_t text_address() const { return version == GoVersion::kGo116 ? 0 : words[2]; }
  // Names, units, files, values, functions.
  uint64_t part(size_t index) const {
    return words[(version == GoVersion::kGo116 ? 2 : 3) + index];
  }
};

std::optional<GoVersion> VersionOf(const uint8_t* magic) {
  uint32_t number;
  std::memcpy(&number, magic, sizeof(number));
  switch (number) {
    case 0xfffffffa: return GoVersion::kGo116;
    case 0xfffffff0: return GoVersion::kGo118;
    case 0xfffffff1: return GoVersion::kGo120;
    default: return std::nullopt;
  }
}

// Two zeros, the instructions' quantum, the bytes of a pointer.
bool IsMagic(const uint8_t* magic) {
  return VersionOf(magic) && magic[4] == 0 && magic[5] == 0 &&
         (magic[6] == 1 || magic[6] == 2 || magic[6] == 4) && magic[7] == sizeof(uint64_t);
}

// nullopt: not a header of a table that is `size_bytes` long.
std::optional<Header> ParseHeader(std::span<const uint8_t, kHeaderBytes> bytes,
                                  uint64_t size_bytes) {
  if (!IsMagic(bytes.data())) return std::nullopt;
  Header header{*VersionOf(bytes.data()), bytes[6], {}};
  std::memcpy(header.words.data(), bytes.data() + kMagicBytes, sizeof(header.words));
  if (header.function_count() == 0 || header.function_count() > kMaxFunctions) return std::nullopt;
  uint64_t last = kMagicBytes;
  for (size_t i = 0; i < 5; ++i) {
    if (header.part(i) < last || header.part(i) >= size_bytes) return std::nullopt;
    last = header.part(i);
  }
  return header;
}

struct Table {
  Header header;
  FilePart part;
  uint64_t address;
};

absl::StatusOr<Table> ReadTable(const ByteSource& source, FilePart part, uint64_t address) {
  if (part.offset >= source.size_bytes()) return absl::DataLossError("Go's table is cut");
  part.size_bytes = std::min(part.size_bytes, source.size_bytes() - part.offset);
  std::array<uint8_t, kHeaderBytes> bytes{};
  if (part.size_bytes < bytes.size()) return absl::DataLossError("Go's table is cut");
  if (absl::Status status = source.ReadAt(part.offset, bytes); !status.ok()) return status;
  const std::optional<Header> header = ParseHeader(bytes, part.size_bytes);
  if (!header) return absl::UnimplementedError("unknown layout of Go's table");
  return Table{*header, part, address};
}

absl::StatusOr<Table> ScanSegment(const ByteSource& source, const ElfSegment& segment,
                                  uint64_t limit_bytes) {
  std::vector<uint8_t> window(kWindowBytes);
  const uint64_t size_bytes = std::min(segment.file_bytes, limit_bytes);
  for (uint64_t at = 0; at + kHeaderBytes <= size_bytes; at += window.size()) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(window.size(), size_bytes - at));
    if (absl::Status status =
            source.ReadAt(segment.file_offset + at, std::span(window).first(wanted));
        !status.ok())
      return status;
    for (size_t i = 0; i + kMagicBytes <= wanted; i += kTableAlign) {
      if (!IsMagic(window.data() + i)) continue;
      absl::StatusOr<Table> table =
          ReadTable(source, {segment.file_offset + at + i, segment.file_bytes - at - i},
                    segment.address + at + i);
      if (table.ok()) return table;
    }
  }
  return absl::NotFoundError("no table of Go's functions");
}

absl::StatusOr<Table> FindTable(const ElfImage& image, const ByteSource& source) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const ElfSection* section = image.FindSection(name);
    if (section != nullptr && section->type != SHT_NOBITS)
      return ReadTable(source, {section->file_offset, section->size_bytes}, section->address);
  }
  uint64_t left = kMaxScanBytes;
  for (const ElfSegment& segment : image.segments()) {
    if (segment.executable) continue;
    absl::StatusOr<Table> table = ScanSegment(source, segment, left);
    if (table.ok() || absl::IsUnavailable(table.status())) return table;
    left -= std::min(left, segment.file_bytes);
  }
  return absl::NotFoundError("no table of Go's functions");
}

const ElfSegment* SegmentOf(const ElfImage& image, uint64_t address) {
  for (const ElfSegment& segment : image.segments())
    if (address - segment.address < segment.file_bytes) return &segment;
  return nullptr;
}

// The file's bytes from an address to the end of its segment.
void SetInlineData(const ElfImage& image, uint64_t address, GoLayout* layout) {
  const ElfSegment* segment = SegmentOf(image, address);
  if (segment == nullptr) return;
  const uint64_t at = address - segment->address;
  layout->inline_base = address;
  layout->inline_data = {segment->file_offset + at, segment->file_bytes - at};
}

// The words of the description of the module that has this table; empty: not found.
std::vector<uint64_t> FindModule(const ElfImage& image, const ByteSource& source,
                                 const Table& table) {
  for (const uint64_t address : FindPointersTo(image, source, table.address)) {
    std::vector<uint64_t> words = ReadPointers(image, source, address, kModuleWords);
    if (words.size() == kModuleWords && words[0] == table.address &&
        words[kNamesPointer] == table.address + table.header.part(0) &&
        words[kFirstPc] < words[kEndPc])
      return words;
  }
  return {};
}

// Where there is no description of the module: the header says it in files that are not relocated,
// up to Go 1.25.
uint64_t TextWithoutModule(const ElfImage& image, const Header& header) {
  if (header.text_address() != 0) return header.text_address();
  const ElfSection* text = image.FindSection(".text");
  return text == nullptr ? 0 : text->address;
}

}  // namespace

bool LooksLikeGo(const ElfImage& image) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"})
    if (image.FindSection(name) != nullptr) return true;
  return !GoBuildId(image).empty();
}

absl::StatusOr<GoLayout> FindGoLayout(const ElfImage& image, const ByteSource& source) {
  if (!LooksLikeGo(image)) return absl::NotFoundError("not a Go program");
  absl::StatusOr<Table> table = FindTable(image, source);
  if (!table.ok()) return table.status();
  const Header& header = table->header;
  GoLayout layout{.version = header.version,
                  .quantum = header.quantum,
                  .function_count = header.function_count()};
  FilePart* const parts[] = {&layout.names, &layout.units, &layout.files, &layout.values,
                             &layout.functions};
  for (size_t i = 0; i < std::size(parts); ++i) {
    const uint64_t end = i + 1 < std::size(parts) ? header.part(i + 1) : table->part.size_bytes;
    *parts[i] = {table->part.offset + header.part(i), end - header.part(i)};
  }
  const std::vector<uint64_t> module = FindModule(image, source, *table);
  if (header.version == GoVersion::kGo116) {
    // Addresses, which lie in the segment of the table.
    const ElfSegment* segment = SegmentOf(image, table->address);
    if (segment != nullptr) SetInlineData(image, segment->address, &layout);
  } else if (!module.empty()) {
    layout.text_address = module[kTextStart];
    SetInlineData(image, module[InlineBaseWord(header.version)], &layout);
  } else {
    layout.text_address = TextWithoutModule(image, header);
  }
  if (layout.text_address == 0 && header.version != GoVersion::kGo116)
    return absl::NotFoundError("the start of Go's code is not known");
  return layout;
}

}  // namespace stackray
