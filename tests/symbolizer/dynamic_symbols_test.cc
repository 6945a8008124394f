// Files whose section headers were taken out have the dynamic loader's names.
#include "symbolizer/dynamic_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "symbolizer/symbol_table.h"
#include "tests/oracles/symbol_oracle.h"

namespace stackray {
namespace {

std::vector<uint8_t> Contents(const std::string& path) {
  const auto file = test::OpenFile(path);
  if (!file) return {};
  return file->source->Read(0, file->source->size_bytes(), 256 << 20)
      .value_or(std::vector<uint8_t>());
}

// As `llvm-strip --strip-sections` leaves it.
void TakeSectionsOut(std::vector<uint8_t>* file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file->data(), sizeof(header));
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(file->data(), &header, sizeof(header));
}

// Compiled libraries with either hash table, and what this machine has.
std::vector<std::string> Libraries(const test::TemporaryDirectory& directory) {
  std::vector<std::string> libraries;
  if (test::HasTool("gcc")) {
    for (const std::string style : {"sysv", "gnu"}) {
      const std::string path = directory.File(style + ".so");
      test::RunLines(
          "printf 'int f(int a) { return a * 3; }\nint g(int a) { return f(a) + f(7); }\n"
          "static int h(int a) { return a; }\nint (*p)(int) = h;\n' | gcc -O1 -shared -fPIC -x c -"
          " -Wl,--hash-style=" +
          style + " -o '" + path + "'");
      if (std::filesystem::exists(path)) libraries.push_back(path);
    }
  }
  for (const std::string& path : test::InterestingFiles())
    if (path.find(".so") != std::string::npos && std::filesystem::file_size(path) < 50'000'000)
      libraries.push_back(path);
  return libraries;
}

TEST(DynamicSymbols, NameAFileWithoutSectionHeaders) {
  const test::TemporaryDirectory directory;
  size_t libraries = 0;
  for (const std::string& path : Libraries(directory)) {
    std::vector<uint8_t> bytes = Contents(path);
    const MemorySource source(bytes);
    const auto whole = ElfImage::Create(source);
    ASSERT_TRUE(whole.ok()) << path;
    const auto expected = FindDynamicSymbols(*whole, source);
    const ElfSection* const dynsym = whole->FindSection(".dynsym");
    if (dynsym == nullptr) continue;
    ASSERT_TRUE(expected.ok()) << path << ' ' << expected.status();
    EXPECT_EQ(expected->file_offset, dynsym->file_offset) << path;
    EXPECT_EQ(expected->count, dynsym->size_bytes / sizeof(Elf64_Sym)) << path;
    EXPECT_EQ(expected->names_size_bytes, whole->FindSection(".dynstr")->size_bytes) << path;
    TakeSectionsOut(&bytes);
    const auto image = ElfImage::Create(source);
    ASSERT_TRUE(image.ok());
    EXPECT_TRUE(image->sections().empty());
    const auto table = SymbolTable::Create(*image, source);
    ASSERT_TRUE(table.ok());
    size_t named = 0;
    const test::OracleSymbols oracle = test::ReadOracle(path);
    for (const test::OracleSymbol& symbol : oracle.symbols) {
      const auto name = table->FindName(source, symbol.start);
      if (!name) continue;  // Of .symtab, if there is one.
      ++named;
      EXPECT_TRUE(oracle.Covering(symbol.start).contains(*name)) << path << ' ' << *name;
    }
    EXPECT_GE(named, 2u) << path;
    ++libraries;
  }
  EXPECT_GE(libraries, 2u);
}

TEST(DynamicSymbols, DamageIsRefusedOrStaysInTheFile) {
  const test::TemporaryDirectory directory;
  for (const std::string& path : Libraries(directory)) {
    std::vector<uint8_t> bytes = Contents(path);
    if (bytes.size() > 100'000) continue;
    TakeSectionsOut(&bytes);
    const MemorySource source(bytes);
    const auto image = ElfImage::Create(source);
    ASSERT_TRUE(image.ok() && image->dynamic());
    const uint64_t table = *image->OffsetOfAddress(image->dynamic()->address);
    for (uint64_t entry = 0; entry < image->dynamic()->size_bytes / sizeof(Elf64_Dyn); ++entry) {
      for (const uint64_t value : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 40}) {
        std::vector<uint8_t> damaged = bytes;
        std::memcpy(damaged.data() + table + entry * sizeof(Elf64_Dyn) + 8, &value, sizeof(value));
        const MemorySource other(damaged);
        const auto found = FindDynamicSymbols(*image, other);
        if (!found.ok()) continue;
        EXPECT_LE(found->file_offset + found->count * sizeof(Elf64_Sym), damaged.size());
        EXPECT_LE(found->names_offset + found->names_size_bytes, damaged.size());
      }
    }
  }
}

}  // namespace
}  // namespace stackray
