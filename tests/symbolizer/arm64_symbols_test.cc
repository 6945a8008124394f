// What only arm64 files have: mapping symbols and stubs of another form. The file is made here,
// word by word.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "symbolizer/symbol_table.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

constexpr uint64_t kPlt = 0x10000, kText = 0x10100, kSlots = 0x20000;

// Sections of one file, laid out one behind the other behind the file header.
class ElfWriter {
 public:
  uint32_t Name(const std::string& name, std::string& table) {
    const uint32_t offset = static_cast<uint32_t>(table.size());
    table += name + '\0';
    return offset;
  }
  void Section(const std::string& name, uint32_t type, uint64_t flags, uint64_t address,
               const std::string& contents, uint32_t link = 0, uint64_t entry_bytes = 0,
               uint32_t info = 0) {
    Elf64_Shdr section{};
    section.sh_name = Name(name, section_names_);
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_addr = address;
    section.sh_offset = sizeof(Elf64_Ehdr) + contents_.size();
    section.sh_size = contents.size();
    section.sh_link = link;
    section.sh_info = info;  // Of a symbol table: its first symbol that is not local.
    section.sh_entsize = entry_bytes;
    contents_ += contents;
    sections_.push_back(section);
  }
  std::string Finish() {
    Section(".shstrtab", SHT_STRTAB, 0, 0, section_names_ + ".shstrtab" + '\0');
    sections_.back().sh_name = static_cast<uint32_t>(section_names_.size()) - 10;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_AARCH64;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof(header) + contents_.size();
    header.e_ehsize = sizeof(header);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<uint16_t>(sections_.size() - 1);
    std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
    file += contents_;
    file.append(reinterpret_cast<const char*>(sections_.data()),
                sections_.size() * sizeof(Elf64_Shdr));
    return file;
  }

 private:
  std::string contents_, section_names_ = std::string(1, '\0');
  std::vector<Elf64_Shdr> sections_ = std::vector<Elf64_Shdr>(1);
};

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Elf64_Sym Symbol(uint32_t name, unsigned binding, unsigned type, uint16_t section, uint64_t value,
                 uint64_t size) {
  return {name, static_cast<unsigned char>(ELF64_ST_INFO(binding, type)), 0, section, value, size};
}

// Sections: 1 .dynsym 2 .dynstr 3 .rela.plt 4 .plt 5 .text 6 .symtab 7 .strtab.
std::string Arm64File() {
  ElfWriter writer;
  std::string dynamic_names(1, '\0'), names(1, '\0');
  std::vector<Elf64_Sym> dynamic(1), symbols(1);
  for (const char* name : {"malloc", "free", "with_bti"})
    dynamic.push_back(Symbol(writer.Name(name, dynamic_names), STB_GLOBAL, STT_FUNC, 0, 0, 0));
  std::vector<Elf64_Rela> slots;
  for (uint64_t i = 0; i < 3; ++i)
    slots.push_back({kSlots + 0x18 + 8 * i, ELF64_R_INFO(i + 1, R_AARCH64_JUMP_SLOT), 0});

  // The header of 32 bytes loads a slot that no symbol has; then adrp x16; ldr x17; add x16; br
  // x17.
  constexpr uint32_t kNop = 0xd503201f, kAdrp16Pages = 0x90000090, kBr = 0xd61f0220;
  const std::vector<uint32_t> plt = {0xa9bf7bf0,   kAdrp16Pages,
                                     0xf9400a11,   0x91004210,
                                     kBr,          kNop,
                                     kNop,         kNop,
                                     kAdrp16Pages, 0xf9400e11,
                                     0x91006210,   kBr,  // malloc: slot +0x18, at 0x10020.
                                     kAdrp16Pages, 0xf9401211,
                                     0x91008210,   kBr,  // free: slot +0x20, at 0x10030.
                                     0xd503245f,   kAdrp16Pages,
                                     0xf9401611,   0x9100a210,
                                     kBr,          kNop};  // bti c; slot +0x28, at 0x10040.

  const auto add = [&](const char* name, unsigned binding, unsigned type, uint64_t at,
                       uint64_t size) {
    symbols.push_back(Symbol(writer.Name(name, names), binding, type, 5, kText + at, size));
  };
  add("$x", STB_LOCAL, STT_NOTYPE, 0, 0);
  add("$d.4", STB_LOCAL, STT_NOTYPE, 16, 0);
  add("$x", STB_LOCAL, STT_NOTYPE, 32, 0);
  add(".Ltmp1", STB_LOCAL, STT_NOTYPE, 36, 0);
  add("routine", STB_LOCAL, STT_NOTYPE, 40, 0);
  add("$cash", STB_LOCAL, STT_NOTYPE, 48, 0);
  add("function@@VERS_1", STB_GLOBAL, STT_FUNC, 0, 16);

  writer.Section(".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x200, Bytes(dynamic), 2, sizeof(Elf64_Sym), 1);
  writer.Section(".dynstr", SHT_STRTAB, SHF_ALLOC, 0x300, dynamic_names);
  writer.Section(".rela.plt", SHT_RELA, SHF_ALLOC, 0x400, Bytes(slots), 1, sizeof(Elf64_Rela));
  writer.Section(".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kPlt, Bytes(plt), 0, 16);
  writer.Section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kText, std::string(64, '\0'));
  writer.Section(".symtab", SHT_SYMTAB, 0, 0, Bytes(symbols), 7, sizeof(Elf64_Sym), 7);
  writer.Section(".strtab", SHT_STRTAB, 0, 0, names);
  return writer.Finish();
}

class Arm64Symbols : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<ElfImage> image = ElfImage::Create(source_);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->machine(), EM_AARCH64);
    absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, source_);
    ASSERT_TRUE(table.ok());
    table_ = *std::move(table);
  }
  std::string At(uint64_t address) const {
    return table_->FindName(source_, address).value_or("-");
  }
  const std::string file_ = Arm64File();
  const MemorySource source_{{reinterpret_cast<const uint8_t*>(file_.data()), file_.size()}};
  std::optional<SymbolTable> table_;
};

TEST_F(Arm64Symbols, MappingSymbolsAreNoNames) {
  EXPECT_EQ(At(kText), "function") << "without its version";
  EXPECT_EQ(At(kText + 15), "function");
  for (const uint64_t at : {16, 31, 32, 36, 39}) EXPECT_EQ(At(kText + at), "-") << at;
  EXPECT_EQ(At(kText + 40), "routine");
  EXPECT_EQ(At(kText + 47), "routine");
  EXPECT_EQ(At(kText + 48), "$cash") << "a dollar alone makes no mapping symbol";
  EXPECT_EQ(At(kText + 63), "$cash");
  EXPECT_EQ(At(kText + 64), "-");
}

TEST_F(Arm64Symbols, StubsByTheSlotTheyLoad) {
  EXPECT_EQ(At(kPlt), "-") << "the header jumps through no symbol's slot";
  EXPECT_EQ(At(kPlt + 0x1f), "-");
  EXPECT_EQ(At(kPlt + 0x20), "malloc@plt");
  EXPECT_EQ(At(kPlt + 0x2f), "malloc@plt");
  EXPECT_EQ(At(kPlt + 0x30), "free@plt");
  EXPECT_EQ(At(kPlt + 0x40), "with_bti@plt");
  EXPECT_EQ(At(kPlt + 0x53), "with_bti@plt") << "five instructions with the landing pad";
}

TEST_F(Arm64Symbols, ReadelfAgreesThatTheFileIsWhole) {
  if (!test::HasTool("readelf")) GTEST_SKIP() << "no readelf";
  const test::TemporaryDirectory directory;
  const std::string path = directory.Write("arm64", file_);
  EXPECT_TRUE(test::RunLines("readelf -hSsrW '" + path + "' 2>&1 >/dev/null").empty())
      << "no warning";
  EXPECT_EQ(test::RunLines("readelf -sW '" + path + "' | grep -c ' FUNC '"),
            std::vector<std::string>{"4"});
  EXPECT_EQ(test::RunLines("readelf -rW '" + path + "' | grep -c R_AARCH64_JUMP_SLOT"),
            std::vector<std::string>{"3"});
}

// The disassembler reads the words as the stubs they are meant to be.
TEST_F(Arm64Symbols, LlvmReadsTheSameInstructions) {
  if (!test::HasTool("llvm-objdump")) GTEST_SKIP() << "no llvm-objdump";
  const test::TemporaryDirectory directory;
  const std::string path = directory.Write("arm64", file_);
  const auto count = [&](const std::string& pattern) {
    return test::RunLines("llvm-objdump -d -j .plt '" + path + "' | grep -cE '" + pattern + "'")
        .at(0);
  };
  EXPECT_EQ(count("adrp\\s+x16, 0x20000"), "4");
  EXPECT_EQ(count("bti\\s+c|hint\\s+#34"), "1");
  for (const char* offset : {"#16", "#24", "#32", "#40"}) {
    EXPECT_EQ(count(std::string("ldr\\s+x17, \\[x16, ") + offset + "\\]"), "1") << offset;
  }
}

}  // namespace
}  // namespace stackray
