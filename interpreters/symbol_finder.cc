#include "interpreters/symbol_finder.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace stackray {
namespace {

// "" where there is none, or a longer one than we look for: what it costs must not depend on the
// file.
std::string_view NameAt(const std::vector<uint8_t>& strings, uint32_t offset) {
  if (offset >= strings.size()) return "";
  const char* begin = reinterpret_cast<const char*>(strings.data()) + offset;
  const size_t most = std::min(strings.size() - offset, kMaxSymbolNameBytes + 1);
  const std::string_view name(begin, strnlen(begin, most));
  return name.size() > kMaxSymbolNameBytes ? "" : name;
}

// The head of .gnu.hash (binutils 2.40, bfd/elflink.c): then come the filter's 64-bit words.
struct GnuHashHead {
  uint32_t bucket_count, first_symbol, word_count, shift;
};

uint32_t GnuHash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<uint8_t>(c);
  return hash;
}

// What lies at `offset` of the section; nullopt: it does not lie inside.
template <typename T>
std::optional<T> ReadAt(const ElfSection& section, const ByteSource& source, uint64_t offset) {
  if (section.size_bytes < sizeof(T) || offset > section.size_bytes - sizeof(T))
    return std::nullopt;
  T value;
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&value), sizeof(value));
  if (!source.ReadAt(section.file_offset + offset, bytes).ok()) return std::nullopt;
  return value;
}

// The hash table of a file's dynamic symbols: a head, the filter's words, buckets, and the chains'
// hashes.
class HashSection {
 public:
  HashSection(const ElfImage& image, const ByteSource& source) : source_(source) {
    for (const ElfSection& section : image.sections())
      if (section.type == SHT_GNU_HASH) table_ = &section;
    if (table_ == nullptr || table_->link >= image.sections().size()) return;
    symbols_ = &image.sections()[table_->link];
    if (symbols_->link >= image.sections().size()) return;
    names_ = &image.sections()[symbols_->link];
    const auto head = ReadAt<GnuHashHead>(*table_, source, 0);
    if (head && head->word_count != 0 && head->bucket_count != 0 && head->shift < 32) head_ = head;
  }
  bool is_readable() const { return head_.has_value(); }

  // Asks the filter alone: no bucket is read for nearly every file that lacks the name.
  bool MayHold(std::string_view name) const {
    const uint32_t hash = GnuHash(name);
    const uint64_t word = hash / 64 % head_->word_count;
    const auto bits = ReadAt<uint64_t>(*table_, source_, sizeof(GnuHashHead) + word * 8);
    return bits && (*bits >> hash % 64 & *bits >> (hash >> head_->shift) % 64 & 1) != 0;
  }

  bool Holds(std::string_view name) const {
    const uint32_t hash = GnuHash(name);
    const uint64_t buckets = sizeof(GnuHashHead) + uint64_t{head_->word_count} * 8;
    const uint64_t hashes = buckets + uint64_t{head_->bucket_count} * 4;
    const auto first =
        ReadAt<uint32_t>(*table_, source_, buckets + uint64_t{hash % head_->bucket_count} * 4);
    if (!first || *first < head_->first_symbol) return false;
    for (uint64_t i = *first; i - *first < kMaxChain; ++i) {
      const auto at = ReadAt<uint32_t>(*table_, source_, hashes + (i - head_->first_symbol) * 4);
      if (!at) return false;
      if ((*at | 1) == (hash | 1) && IsNamed(i, name)) return true;
      if ((*at & 1) != 0) return false;
    }
    return false;
  }

 private:
  static constexpr uint64_t kMaxChain = 4096;  // A linker makes chains of a few.

  bool IsNamed(uint64_t index, std::string_view name) const {
    const auto symbol = ReadAt<Elf64_Sym>(*symbols_, source_, index * sizeof(Elf64_Sym));
    if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_name >= names_->size_bytes)
      return false;
    const uint64_t size = name.size() + 1;
    const auto bytes = source_.Read(names_->file_offset + symbol->st_name, size, size);
    return bytes.ok() && NameAt(*bytes, 0) == name;
  }

  const ByteSource& source_;
  const ElfSection* table_ = nullptr;
  const ElfSection* symbols_ = nullptr;
  const ElfSection* names_ = nullptr;
  std::optional<GnuHashHead> head_;
};

}  // namespace

std::optional<bool> HasDynamicSymbol(const ElfImage& image, const ByteSource& source,
                                     std::string_view name) {
  const HashSection hash(image, source);
  if (!hash.is_readable()) return std::nullopt;
  if (!hash.MayHold(name)) return false;
  return hash.Holds(name);
}

SymbolsByName FindSymbols(const ElfImage& image, const ByteSource& source, SymbolSection which,
                          const std::function<bool(std::string_view)>& wanted) {
  SymbolsByName found;
  const uint32_t type = which == SymbolSection::kDynamic ? SHT_DYNSYM : SHT_SYMTAB;
  for (const ElfSection& section : image.sections()) {
    if (section.type != type || section.link >= image.sections().size()) continue;
    const ElfSection& names = image.sections()[section.link];
    const auto strings = source.Read(names.file_offset, names.size_bytes, kMaxSectionBytes);
    const auto symbols = source.Read(section.file_offset, section.size_bytes, kMaxSectionBytes);
    if (!strings.ok() || !symbols.ok()) continue;
    for (size_t at = 0;
         at + sizeof(Elf64_Sym) <= symbols->size() && found.size() < kMaxFoundSymbols;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols->data() + at, sizeof(symbol));
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = NameAt(*strings, symbol.st_name);
      if (name.empty() || !wanted(name)) continue;
      found.try_emplace(std::string(name),
                        FoundSymbol{.address = symbol.st_value,
                                    .size_bytes = symbol.st_size,
                                    .is_thread_local = ELF64_ST_TYPE(symbol.st_info) == STT_TLS});
    }
    break;
  }
  return found;
}

}  // namespace stackray
