#include "interpreters/runtime_file.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stackray {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20, kMostConstantBytes = 64 << 20;

}  // namespace

RuntimeFile::RuntimeFile(const ElfImage& image, const ByteSource& source, std::string_view anchor,
                         const std::function<bool(std::string_view)>& wanted)
    : image_(image),
      source_(source),
      symbols_(FindSymbols(image, source, SymbolSection::kDynamic, wanted)),
      anchor_(anchor) {}

void RuntimeFile::AddAllSymbols(const std::function<bool(std::string_view)>& wanted) {
  symbols_.merge(FindSymbols(image_, source_, SymbolSection::kAll, wanted));
}

const FoundSymbol* RuntimeFile::Find(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

uint64_t RuntimeFile::AddressOf(std::string_view name) const {
  const FoundSymbol* found = Find(name);
  return found == nullptr ? 0 : found->address;
}

std::vector<uint8_t> RuntimeFile::BytesAt(uint64_t address, uint64_t size_bytes) const {
  const std::optional<uint64_t> offset = image_.OffsetOfAddress(address);
  if (!offset || *offset >= source_.size_bytes()) return {};
  const uint64_t there = std::min(size_bytes, source_.size_bytes() - *offset);
  absl::StatusOr<std::vector<uint8_t>> bytes = source_.Read(*offset, there, size_bytes);
  return bytes.ok() ? *std::move(bytes) : std::vector<uint8_t>{};
}

std::vector<uint8_t> RuntimeFile::CodeOf(std::string_view function, uint64_t size_bytes) const {
  const FoundSymbol* found = Find(function);
  return found == nullptr ? std::vector<uint8_t>{} : BytesAt(found->address, size_bytes);
}

uint64_t RuntimeFile::PlaceOf(uint64_t address) const {
  const FoundSymbol* anchor = Find(anchor_);
  const ElfSegment* text = nullptr;
  for (const ElfSegment& segment : image_.segments()) {
    if (!segment.executable) continue;
    const bool holds_anchor =
        anchor != nullptr && anchor->address - segment.address < segment.memory_bytes;
    if (text == nullptr || holds_anchor) text = &segment;
  }
  return text == nullptr ? address : address - (text->address - text->file_offset);
}

uint64_t RuntimeFile::PlaceOf(std::string_view name) const {
  const FoundSymbol* symbol = Find(name);
  return symbol == nullptr ? 0 : PlaceOf(symbol->address);
}

void RuntimeFile::AddRange(uint64_t address, uint64_t size_bytes,
                           std::vector<FileRange>* ranges) const {
  const std::optional<uint64_t> begin = image_.OffsetOfAddress(address);
  if (!begin || *begin >= source_.size_bytes() || size_bytes == 0) return;
  const uint64_t there = std::min(size_bytes, source_.size_bytes() - *begin);
  ranges->push_back({.begin = *begin, .end = *begin + there});
}

void RuntimeFile::AddRange(std::string_view function, std::vector<FileRange>* ranges) const {
  if (const FoundSymbol* found = Find(function))
    AddRange(found->address, found->size_bytes, ranges);
}

void RuntimeFile::VisitConstants(const std::function<bool(std::string_view)>& visit) const {
  const ElfSection* section = image_.FindSection(".rodata");
  if (section == nullptr) return;
  const uint64_t size = std::min(section->size_bytes, kMostConstantBytes);
  for (uint64_t at = 0; at < size; at += kPieceBytes - kOverlapBytes) {
    const uint64_t bytes = std::min(kPieceBytes, size - at);
    const auto piece = source_.Read(section->file_offset + at, bytes, kPieceBytes);
    if (!piece.ok() || !visit({reinterpret_cast<const char*>(piece->data()), piece->size()}))
      return;
  }
}

}  // namespace stackray
