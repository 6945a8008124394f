#include "interpreters/perl/loader.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreters/perl/perl_data.h"
#include "interpreters/symbol_finder.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "Perl_runops_standard", kDebugLoop = "Perl_runops_debug";
constexpr std::string_view kKey = "PL_thr_key";
constexpr std::string_view kStackInfo = "PL_curstackinfo", kCop = "PL_curcop", kOp = "PL_op",
                           kStackPointer = "PL_stack_sp";
constexpr std::string_view kMain = "perl_run";
constexpr std::string_view kLinks[] = {"Perl_pp_entertry", "Perl_pp_entertrycatch",
                                       "Perl_pp_entereval", "Perl_pp_require"};
constexpr std::string_view kVersionText = "v5.";
constexpr uint64_t kPieceBytes = 1 << 20, kOverlapBytes = 64;
constexpr uint64_t kMostTextBytes = 64 << 20;  // Of the section that is searched for the version.

bool IsWanted(std::string_view name) {
  for (std::string_view wanted : {kLoop, kDebugLoop, kKey, kStackInfo, kCop, kOp, kStackPointer,
                                  kMain, kLinks[0], kLinks[1], kLinks[2], kLinks[3]})
    if (name == wanted) return true;
  return false;
}

class PerlFile {
 public:
  PerlFile(const ElfImage& image, const ByteSource& source) : image_(image), source_(source) {
    symbols_ = FindSymbols(image, source, SymbolSection::kDynamic, IsWanted);
  }

  const FoundSymbol* Find(std::string_view name) const {
    const auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }
  // As perl_layout counts: from where byte 0 of the text mapping would be. 0: no such symbol.
  uint64_t PlaceOf(std::string_view name) const {
    const FoundSymbol* symbol = Find(name);
    if (symbol == nullptr) return 0;
    const FoundSymbol* loop = Find(kLoop);
    for (const ElfSegment& segment : image_.segments())
      if (loop != nullptr && segment.executable &&
          loop->address - segment.address < segment.memory_bytes)
        return symbol->address - (segment.address - segment.file_offset);
    return symbol->address;
  }
  std::vector<FileRange> RangesOf(std::span<const std::string_view> functions) const {
    std::vector<FileRange> ranges;
    for (const std::string_view name : functions) {
      const FoundSymbol* symbol = Find(name);
      const std::optional<uint64_t> begin =
          symbol == nullptr ? std::nullopt : image_.OffsetOfAddress(symbol->address);
      if (begin && symbol->size_bytes != 0)
        ranges.push_back({.begin = *begin, .end = *begin + symbol->size_bytes});
    }
    return ranges;
  }
  PerlVersion Version() const;

 private:
  const ElfImage& image_;
  const ByteSource& source_;
  SymbolsByName symbols_;
};

// "36.0" and a NUL; the text begins behind kVersionText. {} for what is none.
PerlVersion ParseVersion(std::string_view text) {
  PerlVersion version{.major = 5};
  uint32_t subversion = 0;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.minor);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  const auto [behind, bad] = std::from_chars(dot + 1, end, subversion);
  if (bad != std::errc() || behind == end || *behind != '\0') return {};
  return version;
}

// Constant texts lie in a section of their own; it is read piece by piece. Several texts look like a version (messages about older
// ones do not end there); they would have to agree, and the newest one is perl's own.
PerlVersion PerlFile::Version() const {
  PerlVersion newest;
  const ElfSection* section = image_.FindSection(".rodata");
  if (section == nullptr) return {};
  const uint64_t size = std::min(section->size_bytes, kMostTextBytes);
  for (uint64_t at = 0; at < size; at += kPieceBytes - kOverlapBytes) {
    const uint64_t bytes = std::min(kPieceBytes, size - at);
    const auto piece = source_.Read(section->file_offset + at, bytes, kPieceBytes);
    if (!piece.ok()) return newest;
    const std::string_view text(reinterpret_cast<const char*>(piece->data()), piece->size());
    for (size_t found = text.find(kVersionText); found != std::string_view::npos;
         found = text.find(kVersionText, found + 1)) {
      if (found > 0 && text[found - 1] != '\0') continue;
      const PerlVersion version = ParseVersion(text.substr(found + kVersionText.size()));
      if (version.minor > newest.minor) newest = version;
    }
  }
  return newest;
}

}  // namespace

std::shared_ptr<const RuntimeData> PerlLoader::Recognise(const ElfImage& image,
                                                         const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kLoop).value_or(true)) return nullptr;
  const PerlFile file(image, source);
  if (file.Find(kLoop) == nullptr) return nullptr;
  PerlVariables variables{.key_at = file.PlaceOf(kKey)};
  if (!variables.has_threads())
    variables = {.stack_info_at = file.PlaceOf(kStackInfo),
                 .cop_at = file.PlaceOf(kCop),
                 .op_at = file.PlaceOf(kOp),
                 .stack_pointer_at = file.PlaceOf(kStackPointer)};
  const std::string_view loops[] = {kLoop, kDebugLoop}, mains[] = {kMain};
  return PerlData::Make(
      file.Version(), variables,
      {.loop = file.RangesOf(loops), .link = file.RangesOf(kLinks), .main = file.RangesOf(mains)});
}

}  // namespace stackray
