#include "interpreters/v8/blob_table.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "interpreters/process_memory.h"

namespace stackray::v8 {
namespace {

constexpr uint64_t kPieceBytes = 4 << 20, kMostScannedBytes = uint64_t{512} << 20;
constexpr size_t kFewestEntries = 1000;
// An entry begins with the code's offset in the blob and its length: 12 bytes from V8 12.4 on, 32
// in 11.3, 28 in 10.2, 16 in 9.4.
constexpr std::array<uint32_t, 4> kStrides = {12, 32, 28, 16};
constexpr uint32_t kMostBlobBytes = 16 << 20, kMostBuiltinBytes = 1 << 20, kAlignment = 32;
constexpr uint64_t kLongestTable = kMostBuiltins * 32;
constexpr uint8_t kPadding = 0xcc;  // Between builtins: the instruction of a breakpoint.

struct Entry {
  uint32_t offset = 0, bytes = 0;
};

// Visits pieces of the section that overlap by `overlap`, until `visit` answers false. It gets the
// piece, and where it lies in the section.
void VisitSection(const ByteSource& source, const ElfSection& section, uint64_t overlap,
                  const std::function<bool(std::span<const uint8_t>, uint64_t)>& visit) {
  const uint64_t size = std::min(section.size_bytes, kMostScannedBytes);
  for (uint64_t at = 0; at < size; at += kPieceBytes) {
    const uint64_t bytes = std::min(kPieceBytes + overlap, size - at);
    const auto piece = source.Read(section.file_offset + at, bytes, kPieceBytes + overlap);
    if (!piece.ok() || !visit(*piece, at)) return;
  }
}

bool IsEntry(std::span<const uint8_t> bytes, uint64_t at) {
  const auto offset = NumberAt<uint32_t>(bytes, at), length = NumberAt<uint32_t>(bytes, at + 4);
  return offset % kAlignment == 0 && offset < kMostBlobBytes && length != 0 &&
         length < kMostBuiltinBytes;
}

// The entries from here on; empty: no such table begins here.
std::vector<Entry> EntriesAt(std::span<const uint8_t> bytes, uint64_t at, uint32_t stride) {
  std::vector<Entry> entries;
  bool has_first = false;  // What follows the table may look like an entry, at the blob's begin.
  for (; entries.size() < kMostBuiltins && at + stride <= bytes.size() && IsEntry(bytes, at);
       at += stride) {
    const Entry entry{NumberAt<uint32_t>(bytes, at), NumberAt<uint32_t>(bytes, at + 4)};
    if (entry.offset == 0 && std::exchange(has_first, true)) break;
    entries.push_back(entry);
  }
  return entries.size() < kFewestEntries ? std::vector<Entry>{} : entries;
}

std::vector<Entry> FindEntries(const ElfImage& image, const ByteSource& source) {
  constexpr uint64_t kFirstSteps = 4;
  std::vector<Entry> found;
  const ElfSection* const section = image.FindSection(".rodata");
  if (section == nullptr) return found;
  VisitSection(source, *section, kLongestTable, [&](std::span<const uint8_t> piece, uint64_t) {
    for (uint64_t at = 0; at + 64 <= std::min<uint64_t>(piece.size(), kPieceBytes); at += 8) {
      if (!IsEntry(piece, at)) continue;
      for (const uint32_t stride : kStrides) {
        bool is_table = true;
        for (uint64_t step = 1; step <= kFirstSteps && is_table; ++step)
          is_table = IsEntry(piece, at + step * stride);
        if (is_table) found = EntriesAt(piece, at, stride);
        if (!found.empty()) return false;
      }
    }
    return true;
  });
  return found;
}

// Do the gaps between all builtins hold nothing but padding, if the blob begins here?
bool IsBlobAt(std::span<const uint8_t> code, uint64_t begin, std::span<const Entry> sorted) {
  for (size_t i = 0; i + 1 < sorted.size(); ++i) {
    const uint64_t gap = begin + sorted[i].offset + sorted[i].bytes;
    const uint64_t next = begin + sorted[i + 1].offset;
    if (next > code.size()) return false;
    for (uint64_t at = gap; at < next; ++at)
      if (code[at] != kPadding) return false;
  }
  return true;
}

// Where in the file the blob's code begins.
std::optional<uint64_t> FindBlob(const ElfImage& image, const ByteSource& source,
                                 std::span<const Entry> sorted) {
  const ElfSection* const text = image.FindSection(".text");
  if (text == nullptr || sorted.empty()) return std::nullopt;
  const uint64_t bytes = sorted.back().offset + uint64_t{sorted.back().bytes};
  std::optional<uint64_t> found;
  VisitSection(source, *text, bytes, [&](std::span<const uint8_t> piece, uint64_t at) {
    uint64_t begin = (kAlignment - (text->address + at) % kAlignment) % kAlignment;
    for (; begin < std::min<uint64_t>(piece.size(), kPieceBytes) && !found; begin += kAlignment)
      if (IsBlobAt(piece, begin, sorted)) found = text->file_offset + at + begin;
    return !found;
  });
  return found;
}

// Names of builtins, in the order of their numbers: pointers to texts, each the first of three
// words.
class Names {
 public:
  Names(const ElfImage& image, const ByteSource& source) : image_(image), source_(source) {}
  std::vector<std::string> Read(size_t count);

 private:
  static constexpr uint64_t kEntryBytes = 24;
  std::optional<uint64_t> AddressOfFirst();
  std::string TextAt(uint64_t address);
  void VisitRelocations(const std::function<bool(uint64_t, uint64_t)>& visit);
  std::map<uint64_t, uint64_t> RelocatedWords(uint64_t text, size_t count);
  std::vector<uint8_t> StoredWords(uint64_t text, size_t count);

  const ElfImage& image_;
  const ByteSource& source_;
};

std::optional<uint64_t> Names::AddressOfFirst() {
  constexpr std::string_view kFirst("\0DeoptimizationEntry_Eager\0", 27);
  std::optional<uint64_t> address;
  const ElfSection* const section = image_.FindSection(".rodata");
  if (section == nullptr) return std::nullopt;
  VisitSection(source_, *section, kFirst.size(), [&](std::span<const uint8_t> piece, uint64_t at) {
    const std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
    const size_t found = text.find(kFirst);
    if (found != std::string_view::npos) address = section->address + at + found + 1;
    return !address;
  });
  return address;
}

std::string Names::TextAt(uint64_t address) {
  constexpr uint64_t kMostBytes = 128;
  const std::optional<uint64_t> offset = image_.OffsetOfAddress(address);
  if (!offset || *offset >= source_.size_bytes()) return "";
  const auto bytes =
      source_.Read(*offset, std::min(kMostBytes, source_.size_bytes() - *offset), kMostBytes);
  if (!bytes.ok()) return "";
  const auto end = std::ranges::find(*bytes, 0);
  const bool is_name = end != bytes->end() && std::all_of(bytes->begin(), end, [](uint8_t byte) {
                         return byte > ' ' && byte < 0x7f;
                       });
  return is_name ? std::string(bytes->begin(), end) : "";
}

// Where a relative relocation writes, and the address that it writes.
void Names::VisitRelocations(const std::function<bool(uint64_t, uint64_t)>& visit) {
  const ElfSection* const section = image_.FindSection(".rela.dyn");
  if (section == nullptr) return;
  VisitSection(source_, *section, 0, [&](std::span<const uint8_t> piece, uint64_t begin) {
    uint64_t at = (sizeof(Elf64_Rela) - begin % sizeof(Elf64_Rela)) % sizeof(Elf64_Rela);
    for (; at + sizeof(Elf64_Rela) <= piece.size(); at += sizeof(Elf64_Rela)) {
      const auto type = NumberAt<uint32_t>(piece, at + 8);
      if (type != R_X86_64_RELATIVE && type != R_AARCH64_RELATIVE) continue;
      if (!visit(NumberAt<uint64_t>(piece, at), NumberAt<uint64_t>(piece, at + 16))) return false;
    }
    return true;
  });
}

std::map<uint64_t, uint64_t> Names::RelocatedWords(uint64_t text, size_t count) {
  std::map<uint64_t, uint64_t> words;
  std::optional<uint64_t> first;
  VisitRelocations([&](uint64_t at, uint64_t value) {
    if (value == text) first = at;
    return !first;
  });
  if (!first) return words;
  VisitRelocations([&](uint64_t at, uint64_t value) {
    if (at >= *first && at - *first < count * kEntryBytes) words[at - *first] = value;
    return true;
  });
  return words;
}

// The words of a file that has the addresses itself.
std::vector<uint8_t> Names::StoredWords(uint64_t text, size_t count) {
  std::vector<uint8_t> words;
  for (const std::string_view name : {".data.rel.ro", ".rodata", ".data"}) {
    const ElfSection* const section = image_.FindSection(name);
    if (section == nullptr || !words.empty()) continue;
    VisitSection(source_, *section, count * kEntryBytes,
                 [&](std::span<const uint8_t> piece, uint64_t) {
                   for (uint64_t at = 0; at + 8 <= piece.size(); at += 8) {
                     if (NumberAt<uint64_t>(piece, at) != text) continue;
                     const auto bytes = piece.subspan(at);
                     words.assign(bytes.begin(), bytes.end());
                     return false;
                   }
                   return true;
                 });
  }
  return words;
}

std::vector<std::string> Names::Read(size_t count) {
  std::vector<std::string> names;
  const std::optional<uint64_t> text = AddressOfFirst();
  if (!text) return names;
  const std::map<uint64_t, uint64_t> relocated = RelocatedWords(*text, count);
  const std::vector<uint8_t> stored =
      relocated.empty() ? StoredWords(*text, count) : std::vector<uint8_t>{};
  names.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto word = relocated.find(i * kEntryBytes);
    const uint64_t address =
        word != relocated.end() ? word->second : NumberAt<uint64_t>(stored, i * kEntryBytes);
    names.push_back(TextAt(address));
    if (names.back().empty()) break;
  }
  return names;
}

}  // namespace

std::vector<Builtin> BuiltinsOfTables(const ElfImage& image, const ByteSource& source) {
  const std::vector<Entry> entries = FindEntries(image, source);
  std::vector<Entry> sorted = entries;
  std::ranges::sort(sorted, {}, &Entry::offset);
  const std::optional<uint64_t> blob = FindBlob(image, source, sorted);
  if (!blob) return {};
  const std::vector<std::string> names = Names(image, source).Read(entries.size());
  std::vector<Builtin> builtins;
  builtins.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i)
    builtins.push_back({.file_offset = *blob + entries[i].offset,
                        .bytes = entries[i].bytes,
                        .name = i < names.size() && !names[i].empty()
                                    ? names[i]
                                    : "builtin " + std::to_string(i)});
  return builtins;
}

}  // namespace stackray::v8
