#include "interpreters/php/loader.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreters/accessor.h"
#include "interpreters/loop_rule.h"
#include "interpreters/php/php_data.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "execute_ex";
constexpr std::string_view kGlobals = "executor_globals";
constexpr std::string_view kGlobalsOffset = "executor_globals_offset";
constexpr std::string_view kGlobalsNumber = "executor_globals_id";
constexpr std::string_view kBlock = "tsrm_get_ls_cache";
constexpr std::string_view kGeneratorClass = "zend_ce_generator";
constexpr std::string_view kVersionText = "X-Powered-By: PHP/";
constexpr uint64_t kPieceBytes = 1 << 20, kOverlapBytes = 64;
constexpr uint64_t kMostTextBytes = 64 << 20;  // Of the sections that are searched for the version.

bool IsWanted(std::string_view name) {
  return name == kLoop || name == kGlobals || name == kGlobalsOffset || name == kGlobalsNumber ||
         name == kBlock || name == kGeneratorClass;
}

class PhpFile {
 public:
  PhpFile(const ElfImage& image, const ByteSource& source) : image_(image), source_(source) {
    symbols_ = FindSymbols(image, source, SymbolSection::kDynamic, IsWanted);
  }

  const FoundSymbol* Find(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }
  std::vector<uint8_t> BytesAt(uint64_t address, uint64_t size_bytes) const {
    const std::optional<uint64_t> offset = image_.OffsetOfAddress(address);
    if (!offset) return {};
    absl::StatusOr<std::vector<uint8_t>> bytes = source_.Read(*offset, size_bytes, size_bytes);
    return bytes.ok() ? *std::move(bytes) : std::vector<uint8_t>{};
  }
  // As php_layout counts: from where byte 0 of the text mapping would be. 0: no such symbol.
  uint64_t PlaceOf(std::string_view name) const {
    const FoundSymbol* symbol = Find(name);
    return symbol == nullptr ? 0 : PlaceOf(symbol->address);
  }
  uint64_t PlaceOf(uint64_t address) const {
    const FoundSymbol* loop = Find(kLoop);
    for (const ElfSegment& segment : image_.segments())
      if (loop != nullptr && segment.executable &&
          loop->address - segment.address < segment.memory_bytes)
        return address - (segment.address - segment.file_offset);
    return address;
  }
  std::vector<FileRange> LoopCode() const {
    const FoundSymbol* loop = Find(kLoop);
    const std::optional<uint64_t> begin =
        loop == nullptr ? std::nullopt : image_.OffsetOfAddress(loop->address);
    if (!begin || loop->size_bytes == 0) return {};
    return {{.begin = *begin, .end = *begin + loop->size_bytes}};
  }
  PhpVersion Version() const;

 private:
  const ElfImage& image_;
  const ByteSource& source_;
  SymbolsByName symbols_;
};

// "8.2…"; {} for what is none.
PhpVersion ParseVersion(std::string_view text) {
  PhpVersion version;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return {};
  return version;
}

// Constant texts lie in a section of their own; it is read piece by piece.
PhpVersion PhpFile::Version() const {
  const ElfSection* section = image_.FindSection(".rodata");
  if (section == nullptr) return {};
  const uint64_t size = std::min(section->size_bytes, kMostTextBytes);
  for (uint64_t at = 0; at < size; at += kPieceBytes - kOverlapBytes) {
    const uint64_t bytes = std::min(kPieceBytes, size - at);
    const auto piece = source_.Read(section->file_offset + at, bytes, kPieceBytes);
    if (!piece.ok()) return {};
    const std::string_view text(reinterpret_cast<const char*>(piece->data()), piece->size());
    if (const size_t found = text.find(kVersionText); found != std::string_view::npos)
      if (const PhpVersion version = ParseVersion(text.substr(found + kVersionText.size()));
          version != PhpVersion{})
        return version;
  }
  return {};
}

PhpVariables FindVariables(const PhpFile& file) {
  PhpVariables variables{.generator_class_at = file.PlaceOf(kGeneratorClass)};
  if (file.Find(kGlobals) != nullptr) {
    variables.globals_at = file.PlaceOf(kGlobals);
    return variables;
  }
  const bool has_offset = file.Find(kGlobalsOffset) != nullptr;
  variables.globals = has_offset ? PHP_GLOBALS_OFFSET : PHP_GLOBALS_NUMBER;
  variables.globals_at = file.PlaceOf(has_offset ? kGlobalsOffset : kGlobalsNumber);
  const FoundSymbol* block = file.Find(kBlock);
  if (block == nullptr) return variables;
  const Accessed found = ReadAccessor(file.BytesAt(block->address, kAccessorBytes), block->address);
  variables.tls_kind = found.tls_kind;
  variables.tls_at = found.address == 0 ? 0 : file.PlaceOf(found.address);
  variables.tls_offset = found.tls_offset;
  return variables;
}

}  // namespace

std::shared_ptr<const RuntimeData> PhpLoader::Recognise(const ElfImage& image,
                                                        const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kLoop).value_or(true)) return nullptr;
  const PhpFile file(image, source);
  const bool has_globals = file.Find(kGlobals) != nullptr || file.Find(kGlobalsOffset) != nullptr ||
                           file.Find(kGlobalsNumber) != nullptr;
  if (file.Find(kLoop) == nullptr || !has_globals) return nullptr;
  const std::vector<FileRange> loop = file.LoopCode();
  return PhpData::Make(file.Version(), FindVariables(file), loop,
                       loop.empty() ? std::nullopt : LoopRule(image, source, loop.front()));
}

}  // namespace stackray
