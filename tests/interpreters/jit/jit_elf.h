// A small ELF file with code at an address and symbols, as JIT compilers register them, for tests.
#ifndef STACKRAY_TESTS_INTERPRETERS_JIT_JIT_ELF_H_
#define STACKRAY_TESTS_INTERPRETERS_JIT_JIT_ELF_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stackray::test {

struct JitSymbol {
  std::string name;
  uint64_t value = 0, size = 0;
};

inline std::vector<uint8_t> JitElf(uint16_t type, uint64_t text, uint64_t text_bytes,
                                   const std::vector<JitSymbol>& symbols,
                                   const std::vector<uint8_t>& eh_frame = {}) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> table(1);
  for (const JitSymbol& symbol : symbols) {
    table.push_back({.st_name = static_cast<Elf64_Word>(names.size()),
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_other = 0,
                     .st_shndx = 1,
                     .st_value = symbol.value,
                     .st_size = symbol.size});
    names += symbol.name + '\0';
  }
  const std::string titles("\0.text\0.symtab\0.strtab\0.eh_frame\0", 33);
  names += titles;
  const auto title = [&](size_t at) {
    return static_cast<Elf64_Word>(names.size() - titles.size() + at);
  };
  const uint64_t table_at = sizeof(Elf64_Ehdr), table_bytes = table.size() * sizeof(Elf64_Sym);
  const uint64_t names_at = table_at + table_bytes;
  const uint64_t entries_at = names_at + names.size();
  Elf64_Shdr sections[5] = {};
  sections[1] = {.sh_name = title(1),
                 .sh_type = SHT_NOBITS,
                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                 .sh_addr = text,
                 .sh_size = text_bytes};
  sections[2] = {.sh_name = title(7),
                 .sh_type = SHT_SYMTAB,
                 .sh_offset = table_at,
                 .sh_size = table_bytes,
                 .sh_link = 3,
                 .sh_entsize = sizeof(Elf64_Sym)};
  sections[3] = {
      .sh_name = title(15), .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names.size()};
  sections[4] = {.sh_name = title(23),
                 .sh_type = SHT_PROGBITS,
                 .sh_flags = SHF_ALLOC,
                 .sh_offset = entries_at,
                 .sh_size = eh_frame.size()};
  Elf64_Ehdr header = {.e_type = type,
                       .e_machine = EM_X86_64,
                       .e_version = EV_CURRENT,
                       .e_shoff = entries_at + eh_frame.size(),
                       .e_ehsize = sizeof(Elf64_Ehdr),
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 5,
                       .e_shstrndx = 3};
  const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  std::memcpy(header.e_ident, ident, sizeof(ident));
  std::vector<uint8_t> bytes;
  const auto append = [&](const void* data, size_t size) {
    const auto* const begin = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  append(&header, sizeof(header));
  append(table.data(), table_bytes);
  append(names.data(), names.size());
  append(eh_frame.data(), eh_frame.size());
  append(sections, sizeof(sections));
  return bytes;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_JIT_JIT_ELF_H_
