#include "interpreters/symbol_finder.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <vector>

namespace stackray {
namespace {

std::string_view NameAt(const std::vector<uint8_t>& strings, uint32_t offset) {
  if (offset >= strings.size()) return "";
  const char* begin = reinterpret_cast<const char*>(strings.data()) + offset;
  return {begin, strnlen(begin, strings.size() - offset)};
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
  const auto bytes = source.Read(section.file_offset + offset, sizeof(T), sizeof(T));
  if (!bytes.ok() || bytes->size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

}  // namespace

bool MayHaveDynamicSymbol(const ElfImage& image, const ByteSource& source, std::string_view name) {
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_GNU_HASH) continue;
    const auto head = ReadAt<GnuHashHead>(section, source, 0);
    if (!head || head->word_count == 0 || head->shift > 31) return true;
    const uint32_t hash = GnuHash(name);
    const uint64_t word = hash / 64 % head->word_count;
    const auto bits = ReadAt<uint64_t>(section, source, sizeof(GnuHashHead) + word * 8);
    return !bits || (*bits >> hash % 64 & *bits >> (hash >> head->shift) % 64 & 1) != 0;
  }
  return true;
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
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
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
  }
  return found;
}

}  // namespace stackray
