// Files whose sections, symbols and names overlap: what is read and kept of them stays bounded.
#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "interpreters/jump_target.h"
#include "interpreters/runtime_file.h"
#include "interpreters/symbol_finder.h"
#include "tests/symbolizer/counting_source.h"
#include "tests/symbolizer/made_elf.h"

namespace stackray::test {
namespace {

constexpr size_t kSymbols = 6000;

bool Any(std::string_view) { return true; }

Elf64_Shdr* HeadersOf(std::vector<uint8_t>& file) {
  Elf64_Ehdr elf;
  std::memcpy(&elf, file.data(), sizeof(elf));
  return reinterpret_cast<Elf64_Shdr*>(file.data() + elf.e_shoff);
}

// `tables` symbol tables, all of them the first one's symbols and with the names in `strings`.
std::vector<uint8_t> FileWith(const std::vector<Elf64_Sym>& symbols, const std::string& strings,
                              size_t tables = 1) {
  Bytes names, table;
  for (const char c : strings) names.U8(static_cast<uint8_t>(c));
  for (const Elf64_Sym& symbol : symbols) table.Add(symbol);
  std::vector<MadeSection> sections = {{.name = ".strings", .bytes = names, .type = SHT_STRTAB}};
  for (size_t i = 0; i < tables; ++i)
    sections.push_back({.name = ".table", .bytes = i == 0 ? table : Bytes(), .type = SHT_DYNSYM});
  std::vector<uint8_t> file = MakeElf(sections);
  Elf64_Shdr* headers = HeadersOf(file);
  for (size_t i = 0; i < tables; ++i) {
    headers[2 + i].sh_link = 1;
    headers[2 + i].sh_offset = headers[2].sh_offset;
    headers[2 + i].sh_size = headers[2].sh_size;
  }
  return file;
}

Elf64_Sym Symbol(uint32_t name, uint64_t address = kMadeBase + 256, uint64_t size_bytes = 1) {
  Elf64_Sym symbol = {};
  symbol.st_name = name;
  symbol.st_shndx = 1;
  symbol.st_value = address;
  symbol.st_size = size_bytes;
  return symbol;
}

TEST(HostileSymbols, NamesThatShareOneLongTextAreNotKept) {
  std::string strings;
  std::vector<Elf64_Sym> symbols;
  for (size_t i = 0; i < kSymbols; ++i) {
    symbols.push_back(Symbol(static_cast<uint32_t>(strings.size())));
    strings += "_TAIL_CALL_";
  }
  const std::vector<uint8_t> file = FileWith(symbols, strings);
  const MemorySource source(file);
  size_t bytes = 0;
  for (const auto& [name, symbol] :
       FindSymbols(*ElfImage::Create(source), source, SymbolSection::kDynamic, Any))
    bytes += name.size();
  EXPECT_LE(bytes, kMaxSymbolNameBytes * kMaxSymbolNameBytes);  // Those at the end are short.
}

TEST(HostileSymbols, NoMoreThanSomeThousandAreKept) {
  std::string strings;
  std::vector<Elf64_Sym> symbols;
  for (size_t i = 0; i < kSymbols; ++i) {
    symbols.push_back(Symbol(static_cast<uint32_t>(strings.size())));
    strings += fmt::format("name{}", i) + '\0';
  }
  const std::vector<uint8_t> file = FileWith(symbols, strings);
  const MemorySource source(file);
  EXPECT_EQ(FindSymbols(*ElfImage::Create(source), source, SymbolSection::kDynamic, Any).size(),
            kMaxFoundSymbols);
}

TEST(HostileSymbols, OneTableCounts) {
  const std::vector<uint8_t> file =
      FileWith(std::vector<Elf64_Sym>(100, Symbol(0)), std::string("name\0", 5), 200);
  const MemorySource source(file);
  size_t asked = 0;
  const auto found =
      FindSymbols(*ElfImage::Create(source), source, SymbolSection::kDynamic, [&](auto) {
        ++asked;
        return true;
      });
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(asked, 100u);
}

TEST(HostileSymbols, RelocationsHaveOneBoundTogether) {
  Bytes entries;
  for (size_t i = 0; i < 40'000; ++i) entries.U64(i).U64(R_X86_64_NONE).U64(i);
  std::vector<MadeSection> sections = {{.name = ".rela", .bytes = entries, .type = SHT_RELA}};
  for (size_t i = 0; i < 100; ++i)
    sections.push_back({.name = ".rela", .bytes = {}, .type = SHT_RELA});
  std::vector<uint8_t> file = MakeElf(sections);
  Elf64_Shdr* headers = HeadersOf(file);
  for (size_t i = 1; i <= 100; ++i) {
    headers[1 + i].sh_offset = headers[1].sh_offset;
    headers[1 + i].sh_size = headers[1].sh_size;
  }
  const ElfImage image = *ElfImage::Create(MemorySource(file));
  const CountingSource source(file);
  EXPECT_FALSE(FindJumpTarget(image, source, FunctionStarts({}), 10));
  EXPECT_LE(source.bytes_read(), kMaxSectionBytes);
}

TEST(HostileSymbols, CodeEndsWithTheFile) {
  const std::vector<uint8_t> file =
      FileWith({Symbol(0, kMadeBase + 256, UINT64_MAX - 8), Symbol(6, kMadeBase + 256, 16)},
               std::string("large\0small\0", 12));
  const MemorySource source(file);
  const ElfImage image = *ElfImage::Create(source);
  const RuntimeFile runtime(image, source, "small", Any);
  std::vector<FileRange> ranges;
  runtime.AddRange("large", &ranges);
  runtime.AddRange("small", &ranges);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].begin, 256u);
  EXPECT_EQ(ranges[0].end, file.size());
  EXPECT_EQ(ranges[1].end, 272u);
}

}  // namespace
}  // namespace stackray::test
