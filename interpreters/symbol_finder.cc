#include "interpreters/symbol_finder.h"

#include <elf.h>

#include <cstring>
#include <vector>

namespace stackray {
namespace {

std::string_view NameAt(const std::vector<uint8_t>& strings, uint32_t offset) {
  if (offset >= strings.size()) return "";
  const char* begin = reinterpret_cast<const char*>(strings.data()) + offset;
  return {begin, strnlen(begin, strings.size() - offset)};
}

}  // namespace

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
