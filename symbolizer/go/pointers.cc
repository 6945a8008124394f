#include "symbolizer/go/pointers.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace stackray {
namespace {

constexpr uint64_t kMaxRelocationBytes = 64 << 20;
constexpr uint64_t kMaxDataBytes = 256 << 20;
constexpr size_t kMaxFound = 16;
constexpr size_t kWindowBytes =
    64 << 10;  // A multiple of a word and of a relocation's 24 bytes is not needed.

bool IsRelative(uint16_t machine, uint64_t info) {
  const uint64_t type = ELF64_R_TYPE(info);
  return machine == EM_X86_64 ? type == R_X86_64_RELATIVE : type == R_AARCH64_RELATIVE;
}

// Calls `visit(values)` with whole elements of the file's part, window by window, until it returns
// false.
template <typename T, typename Visit>
void VisitElements(const ByteSource& source, uint64_t offset, uint64_t size_bytes, Visit visit) {
  std::vector<T> window(kWindowBytes / sizeof(T));
  for (uint64_t left = size_bytes / sizeof(T); left > 0;) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(left, window.size()));
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(window.data()), count * sizeof(T));
    if (!source.ReadAt(offset, bytes).ok()) return;
    if (!visit(std::span<const T>(window.data(), count))) return;
    offset += bytes.size();
    left -= count;
  }
}

// Of relative relocations.
template <typename Visit>
void VisitRelocations(const ElfImage& image, const ByteSource& source, Visit visit) {
  if (image.file_type() != ET_DYN) return;
  uint64_t left = kMaxRelocationBytes;
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) == 0) continue;
    const uint64_t wanted = std::min(section.size_bytes, left);
    left -= wanted;
    VisitElements<Elf64_Rela>(source, section.file_offset, wanted, [&](auto relocations) {
      for (const Elf64_Rela& relocation : relocations)
        if (IsRelative(image.machine(), relocation.r_info)) visit(relocation);
      return true;
    });
  }
}

bool HoldsModules(std::string_view name) {
  return name == ".go.module" || name == ".noptrdata" || name == ".data";
}

struct DataPart {
  uint64_t address, offset, size_bytes;
};
std::vector<DataPart> DataParts(const ElfImage& image) {
  std::vector<DataPart> parts;
  for (const ElfSection& section : image.sections())
    if (HoldsModules(section.name) && section.type != SHT_NOBITS)
      parts.push_back({section.address, section.file_offset, section.size_bytes});
  if (!parts.empty()) return parts;
  for (const ElfSegment& segment : image.segments())
    if (!segment.executable)
      parts.push_back({segment.address, segment.file_offset, segment.file_bytes});
  return parts;
}

}  // namespace

std::vector<uint64_t> ReadPointers(const ElfImage& image, const ByteSource& source,
                                   uint64_t address, size_t count) {
  std::vector<uint64_t> words(count);
  const std::optional<uint64_t> offset = image.OffsetOfAddress(address);
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(words.data()),
                                 count * sizeof(uint64_t));
  if (!offset || !source.ReadAt(*offset, bytes).ok()) return {};
  VisitRelocations(image, source, [&](const Elf64_Rela& relocation) {
    const uint64_t at = relocation.r_offset - address;
    if (at < bytes.size() && at % sizeof(uint64_t) == 0)
      words[at / sizeof(uint64_t)] = static_cast<uint64_t>(relocation.r_addend);
  });
  return words;
}

std::vector<uint64_t> FindPointersTo(const ElfImage& image, const ByteSource& source,
                                     uint64_t target) {
  std::vector<uint64_t> found;
  VisitRelocations(image, source, [&](const Elf64_Rela& relocation) {
    if (static_cast<uint64_t>(relocation.r_addend) == target && found.size() < kMaxFound)
      found.push_back(relocation.r_offset);
  });
  uint64_t left = kMaxDataBytes;
  for (const DataPart& part : DataParts(image)) {
    const uint64_t wanted = std::min(part.size_bytes, left);
    left -= wanted;
    uint64_t address = part.address;
    VisitElements<uint64_t>(source, part.offset, wanted, [&](auto words) {
      for (const uint64_t word : words) {
        if (word == target && found.size() < kMaxFound) found.push_back(address);
        address += sizeof(word);
      }
      return found.size() < kMaxFound;
    });
  }
  return found;
}

}  // namespace stackray
