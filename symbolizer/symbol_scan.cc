#include "symbolizer/symbol_scan.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "symbolizer/dynamic_symbols.h"
#include "symbolizer/plt_symbols.h"

namespace stackray {
namespace {

constexpr uint64_t kSymbolsPerRead = 2048;
constexpr uint64_t kMaxSymbolsRead = 16 << 20;  // 400 MB of symbols: more is no real file.
// How far a label without a size may reach. Hand-written assembly's routines are shorter; without a
// bound one label would name a whole hole in the table.
constexpr uint32_t kMaxLabelBytes = 4096;
constexpr uint64_t kOneNameBytes = 256;

bool IsCode(const ElfSection& section) {
  return (section.flags & SHF_ALLOC) != 0 && (section.flags & SHF_EXECINSTR) != 0 &&
         section.size_bytes <= std::numeric_limits<uint64_t>::max() - section.address;
}

// Preference among names of one address: a size, a function's type, global over weak over local.
uint32_t PreferenceOf(const Elf64_Sym& symbol) {
  uint32_t preference = 0;
  if (symbol.st_size == 0) preference |= kUnsizedLabel;
  if (ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE) preference |= 1u << 30;
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE: break;
    case STB_WEAK: preference |= 1u << 28; break;
    default: preference |= 2u << 28; break;
  }
  return preference;
}

// Executable segments as sections, for a file that has none of code.
std::vector<ElfSection> CodeSegments(const ElfImage& image) {
  std::vector<ElfSection> code;
  if (std::any_of(image.sections().begin(), image.sections().end(), IsCode)) return code;
  for (const ElfSegment& segment : image.segments())
    if (segment.executable)
      code.push_back({.type = SHT_PROGBITS,
                      .flags = SHF_ALLOC | SHF_EXECINSTR,
                      .address = segment.address,
                      .file_offset = segment.file_offset,
                      .size_bytes = segment.file_bytes});
  return code;
}

// Of code, by address.
std::vector<const ElfSection*> CodeSections(const std::vector<ElfSection>& all) {
  std::vector<const ElfSection*> sections;
  for (const ElfSection& section : all)
    if (IsCode(section)) sections.push_back(&section);
  std::stable_sort(sections.begin(), sections.end(), [](const ElfSection* a, const ElfSection* b) {
    return a->address < b->address;
  });
  return sections;
}

class Scan {
 public:
  Scan(const ElfImage& image, const ByteSource& source, size_t max_symbols, ScannedSymbols& out)
      : image_(image),
        source_(source),
        max_symbols_(max_symbols),
        out_(out),
        segments_(CodeSegments(image)),
        code_(CodeSections(segments_.empty() ? image.sections() : segments_)) {
    if (!code_.empty()) out_.base = code_.front()->address;
  }

  bool has_code() const { return !code_.empty(); }

  bool failed() const { return absl::IsUnavailable(status_); }

  void Section(const ElfSection& section, NameReference table) {
    if (section.entry_bytes != sizeof(Elf64_Sym) || section.link >= image_.sections().size())
      return;
    const ElfSection& strings = image_.sections()[section.link];
    if (strings.type != SHT_STRTAB) return;
    Table(section.file_offset, section.size_bytes / sizeof(Elf64_Sym),
          {strings.file_offset, strings.size_bytes}, table);
  }

  // As the dynamic loader finds them.
  void DynamicTable() {
    const absl::StatusOr<DynamicSymbols> found = FindDynamicSymbols(image_, source_);
    if (absl::IsUnavailable(found.status())) status_ = found.status();
    if (found.ok())
      Table(found->file_offset, found->count, {found->names_offset, found->names_size_bytes},
            kDynamicName);
  }

  void Table(uint64_t file_offset, uint64_t count, const StringTablePlace& strings,
             NameReference table) {
    out_.strings[table == kDynamicName] = strings;
    count = std::min(count, kMaxSymbolsRead);
    std::vector<Elf64_Sym> symbols;
    for (uint64_t i = 0; i < count && out_.candidates.size() < max_symbols_; i += symbols.size()) {
      symbols.resize(std::min(kSymbolsPerRead, count - i));
      const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(symbols.data()),
                                     symbols.size() * sizeof(Elf64_Sym));
      status_ = source_.ReadAt(file_offset + i * sizeof(Elf64_Sym), bytes);
      if (!status_.ok()) return;
      for (const Elf64_Sym& symbol : symbols) Add(symbol, table);
    }
  }

  void Add(const Elf64_Sym& symbol, NameReference table) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
    if (symbol.st_name == 0 || symbol.st_name > kNameOffsetMask) return;
    // Without .symtab the next symbol says nothing about where an unsized one ends.
    if (symbol.st_size == 0 && table == kDynamicName) return;
    const ElfSection* section = SectionOf(symbol);
    if (section == nullptr || symbol.st_value < section->address) return;
    const uint64_t inside = symbol.st_value - section->address;
    if (inside >= section->size_bytes) return;
    const uint64_t wanted = symbol.st_size == 0 ? kMaxLabelBytes : symbol.st_size;
    AddRange(symbol.st_value, std::min(wanted, section->size_bytes - inside),
             symbol.st_name | table, PreferenceOf(symbol));
  }

  void AddRange(uint64_t address, uint64_t size, NameReference name, uint32_t preference) {
    if (out_.candidates.size() >= max_symbols_ || address < out_.base) return;
    const uint64_t start = address - out_.base;
    constexpr uint64_t kLimit = std::numeric_limits<uint32_t>::max();
    if (start >= kLimit) return;
    size = std::min(size, kLimit - start);
    out_.candidates.push_back(
        {static_cast<uint32_t>(start), static_cast<uint32_t>(size), name, preference});
  }

 private:
  // The section of code that holds the symbol, or nullptr.
  const ElfSection* SectionOf(const Elf64_Sym& symbol) const {
    // More than 65,279 sections, or none: found by its address.
    const bool is_here = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
    if (symbol.st_shndx == SHN_XINDEX || (!segments_.empty() && is_here)) {
      const auto next = std::upper_bound(
          code_.begin(), code_.end(), symbol.st_value,
          [](uint64_t address, const ElfSection* section) { return address < section->address; });
      return next == code_.begin() ? nullptr : *std::prev(next);
    }
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= image_.sections().size()) return nullptr;
    const ElfSection& section = image_.sections()[symbol.st_shndx];
    return symbol.st_shndx < SHN_LORESERVE && IsCode(section) ? &section : nullptr;
  }

  const ElfImage& image_;
  const ByteSource& source_;
  const size_t max_symbols_;
  ScannedSymbols& out_;
  const std::vector<ElfSection> segments_;  // In the place of sections of code; else empty.
  const std::vector<const ElfSection*> code_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<ScannedSymbols> ScanSymbols(const ElfImage& image, const ByteSource& source,
                                           size_t max_symbols) {
  ScannedSymbols scanned;
  Scan scan(image, source, max_symbols, scanned);
  if (!scan.has_code()) return scanned;
  bool has_symtab = false, has_dynsym = false;  // The first of each; the format allows one.
  for (const ElfSection& section : image.sections()) {
    if (section.type == SHT_SYMTAB && !has_symtab) {
      has_symtab = true;
      scan.Section(section, 0);
    } else if (section.type == SHT_DYNSYM && !has_dynsym) {
      has_dynsym = true;
      scan.Section(section, kDynamicName);
    }
    if (scan.failed()) return absl::UnavailableError("cannot read the symbols");
  }
  if (!has_symtab && !has_dynsym) scan.DynamicTable();
  if (scan.failed()) return absl::UnavailableError("cannot read the symbols");
  // Behind every real symbol, so that a symbol table's own name for a stub wins.
  for (const PltEntry& entry : FindPltEntries(image, source))
    scan.AddRange(entry.address, entry.size_bytes, entry.name | kDynamicName | kPltName, 3u << 28);
  return scanned;
}

bool NameReader::Fill(uint64_t offset, uint64_t size_bytes) {
  const uint64_t file_bytes = source_.size_bytes();
  if (offset >= file_bytes) return false;
  window_.resize(std::min(size_bytes, file_bytes - offset));
  window_offset_ = offset;
  if (source_.ReadAt(offset, window_).ok()) return true;
  window_.clear();
  return false;
}

std::string_view NameReader::Read(NameReference name) {
  const StringTablePlace& table = strings_[(name & kDynamicName) != 0];
  const uint64_t inside = name & kNameOffsetMask;
  if (inside >= table.size_bytes ||
      table.file_offset > std::numeric_limits<uint64_t>::max() - inside)
    return {};
  const uint64_t offset = table.file_offset + inside;
  const uint64_t limit = std::min(max_name_bytes_, table.size_bytes - inside);
  // What is there, then a window from the name on, then as much as a name may have.
  const std::array<uint64_t, 3> tries = {0, window_bytes_, limit};
  for (size_t i = 0; i < tries.size(); ++i) {
    if (tries[i] != 0 && !Fill(offset, tries[i])) return {};
    if (offset < window_offset_ || offset - window_offset_ >= window_.size()) continue;
    const uint64_t available = std::min(limit, window_.size() - (offset - window_offset_));
    const char* start = reinterpret_cast<const char*>(window_.data()) + (offset - window_offset_);
    const size_t length = strnlen(start, available);
    if (length == available && available < limit && i + 1 < tries.size())
      continue;  // Goes on there.
    const std::string_view text(start, length);
    return text.substr(0, text.find('@', 1));
  }
  return {};
}

std::string ReadSymbolName(const ByteSource& source, const StringTables& strings,
                           NameReference name) {
  NameReader reader(source, strings, kOneNameBytes, kMaxSymbolNameBytes);
  std::string text(reader.Read(name));
  if (!text.empty() && (name & kPltName) != 0) text += "@plt";
  return text;
}

}  // namespace stackray
