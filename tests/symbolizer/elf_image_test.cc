// Headers against readelf; damage of every kind must end in an error or in fewer headers.
#include "symbolizer/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstring>
#include <limits>

#include "symbolizer/build_id.h"
#include "symbolizer/executable_info.h"
#include "symbolizer/symbol_table.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

using test::OpenFile;
using test::RunLines;

absl::StatusOr<ElfImage> ImageOf(const std::vector<uint8_t>& bytes) {
  return ElfImage::Create(MemorySource(bytes));
}

// Everything that reads headers; a sanitizer or the clock says when it goes wrong.
void UseAll(const std::vector<uint8_t>& bytes) {
  const MemorySource source(bytes);
  const absl::StatusOr<ExecutableInfo> info = DescribeExecutable(source, "file");
  ASSERT_TRUE(info.ok());
  MappingOf(*info, 0x1000);
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok()) return;
  for (const ElfSegment& segment : image->segments()) {
    ASSERT_LE(segment.address, std::numeric_limits<uint64_t>::max() - segment.memory_bytes);
    if (segment.file_bytes > 0) {
      ASSERT_TRUE(image->AddressOfOffset(segment.file_offset));
    }
  }
  const absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, source);
  if (!table.ok()) return;
  for (uint64_t address = 0; address < 0x4000; address += 61) table->FindName(source, address);
}

// A shared library small enough to be cut everywhere: the vDSO that every process has.
std::vector<uint8_t> Vdso() {
  const uint64_t address = getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, reinterpret_cast<const void*>(address), sizeof(header));
  const uint64_t size = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  const auto* bytes = reinterpret_cast<const uint8_t*>(address);
  return {bytes, bytes + size};
}

TEST(ElfImage, SectionsAreWhatReadelfPrints) {
  if (!test::HasTool("readelf")) GTEST_SKIP() << "no readelf";
  for (const std::string& path : test::InterestingFiles()) {
    const absl::StatusOr<ElfImage> image = ElfImage::Create(*OpenFile(path)->source);
    ASSERT_TRUE(image.ok()) << path << ' ' << image.status();
    size_t count = 0;
    for (const std::string& line : RunLines("readelf -SW '" + path + "'")) {
      const size_t close = line.find(']');
      if (line.find('[') > 4 || close == std::string::npos || line.find("[Nr]") < close) continue;
      const size_t number = std::stoul(line.substr(line.find('[') + 1));
      ASSERT_LT(number, image->sections().size());
      ++count;
      if (number == 0) continue;
      std::istringstream fields(line.substr(close + 1));
      std::string name, type, address, offset, size;
      fields >> name >> type >> address >> offset >> size;
      const ElfSection& section = image->sections()[number];
      EXPECT_EQ(section.name, name);
      EXPECT_EQ(section.address, std::stoull(address, nullptr, 16)) << name;
      EXPECT_EQ(section.file_offset, std::stoull(offset, nullptr, 16)) << name;
      EXPECT_EQ(section.size_bytes, std::stoull(size, nullptr, 16)) << name;
    }
    EXPECT_EQ(count, image->sections().size()) << path;
    EXPECT_GT(count, 10u);
  }
}

TEST(ElfImage, AddressesAndOffsetsAreInverse) {
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*OpenFile(test::OwnFile())->source);
  ASSERT_TRUE(image.ok());
  const ElfSection* text = image->FindSection(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(image->AddressOfOffset(text->file_offset), text->address);
  EXPECT_EQ(image->OffsetOfAddress(text->address), text->file_offset);
  EXPECT_EQ(image->OffsetOfAddress(~uint64_t{0}), std::nullopt);
  ASSERT_NE(image->FindSection(".bss"), nullptr);
  EXPECT_EQ(image->OffsetOfAddress(image->FindSection(".bss")->address + 8), std::nullopt);
  ASSERT_NE(image->FindSection(".eh_frame_hdr"), nullptr);
  EXPECT_EQ(image->eh_frame_header_address(), image->FindSection(".eh_frame_hdr")->address);
  EXPECT_EQ(image->FindSection(".none"), nullptr);
}

TEST(ElfImage, RelocatableFile) {
  if (!test::HasTool("cc")) GTEST_SKIP() << "no compiler";
  const test::TemporaryDirectory directory;
  const std::string source = directory.Write("code.c", "int twice(int n) { return 2 * n; }\n");
  RunLines("cc -c -o " + directory.File("code.o") + " " + source);
  const std::vector<uint8_t> bytes = test::ReadAll(directory.File("code.o"));
  const absl::StatusOr<ElfImage> image = ImageOf(bytes);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->file_type(), ET_REL);
  EXPECT_TRUE(image->segments().empty());
  EXPECT_NE(image->FindSection(".symtab"), nullptr);
  EXPECT_TRUE(absl::IsUnimplemented(SymbolTable::Create(*image, MemorySource(bytes)).status()));
}

TEST(ElfImage, VdsoHasItsNames) {
  const std::vector<uint8_t> bytes = Vdso();
  if (bytes.empty()) GTEST_SKIP() << "no vDSO";
  const MemorySource source(bytes);
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_FALSE(GnuBuildId(*image).empty());
  const absl::StatusOr<SymbolTable> table = SymbolTable::Create(*image, source);
  ASSERT_TRUE(table.ok());
  bool found = false;
  for (const ElfSegment& segment : image->segments())
    for (uint64_t at = 0; at < segment.memory_bytes; at += 4) {
      const auto name = table->FindName(source, segment.address + at);
      found = found || (name && name->find("clock_gettime") != std::string::npos);
    }
  EXPECT_TRUE(found);
}

// Counts that do not fit the file header are in section 0.
TEST(ElfImage, ExtendedNumbering) {
  std::vector<uint8_t> bytes = Vdso();
  if (bytes.empty()) GTEST_SKIP() << "no vDSO";
  const absl::StatusOr<ElfImage> plain = ImageOf(bytes);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Shdr zero{};
  zero.sh_size = header.e_shnum;
  zero.sh_link = header.e_shstrndx;
  zero.sh_info = header.e_phnum;
  std::memcpy(bytes.data() + header.e_shoff, &zero, sizeof(zero));
  header.e_shnum = 0;
  header.e_shstrndx = SHN_XINDEX;
  header.e_phnum = PN_XNUM;
  std::memcpy(bytes.data(), &header, sizeof(header));
  const absl::StatusOr<ElfImage> extended = ImageOf(bytes);
  ASSERT_TRUE(plain.ok() && extended.ok()) << extended.status();
  EXPECT_EQ(extended->segments().size(), plain->segments().size());
  ASSERT_EQ(extended->sections().size(), plain->sections().size());
  EXPECT_EQ(extended->sections().back().name, plain->sections().back().name);
  EXPECT_NE(extended->FindSection(".dynsym"), nullptr);
}

TEST(ElfImage, RefusesWhatIsNotOurs) {
  std::vector<uint8_t> bytes = test::ReadAll(test::OwnFile());
  EXPECT_TRUE(absl::IsDataLoss(ImageOf({}).status()));
  EXPECT_TRUE(absl::IsDataLoss(ImageOf(std::vector<uint8_t>(200, 'x')).status()));
  const auto with = [&](size_t offset, uint8_t value) {
    std::vector<uint8_t> changed = bytes;
    changed[offset] = value;
    return ImageOf(changed).status();
  };
  EXPECT_TRUE(absl::IsUnimplemented(with(EI_CLASS, ELFCLASS32)));
  EXPECT_TRUE(absl::IsUnimplemented(with(EI_DATA, ELFDATA2MSB)));
  EXPECT_TRUE(absl::IsUnimplemented(with(18, EM_386)));
  EXPECT_TRUE(absl::IsDataLoss(with(54, 12))) << "program headers of another size";
  EXPECT_TRUE(with(58, 12).ok()) << "section headers of another size cost the sections";
}

TEST(ElfImage, ProgramHeadersOutsideOfTheFile) {
  std::vector<uint8_t> bytes = Vdso();
  if (bytes.empty()) GTEST_SKIP() << "no vDSO";
  for (const uint64_t offset : {uint64_t{bytes.size()}, ~uint64_t{0}, ~uint64_t{0} - 100}) {
    std::memcpy(bytes.data() + 32, &offset, sizeof(offset));
    EXPECT_TRUE(absl::IsDataLoss(ImageOf(bytes).status())) << offset;
  }
}

TEST(ElfImageDamage, CutAtEveryLength) {
  const std::vector<uint8_t> bytes = Vdso();
  if (bytes.empty()) GTEST_SKIP() << "no vDSO";
  for (size_t size = 0; size < bytes.size(); ++size)
    UseAll(std::vector<uint8_t>(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)));
}

TEST(ElfImageDamage, EveryHeaderByteChanged) {
  const std::vector<uint8_t> bytes = Vdso();
  if (bytes.empty()) GTEST_SKIP() << "no vDSO";
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::vector<std::pair<size_t, size_t>> places = {
      {0, sizeof(header)},
      {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)},
      {header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)}};
  const absl::StatusOr<ElfImage> image = ImageOf(bytes);
  ASSERT_TRUE(image.ok());
  for (const std::string_view name : {".dynsym", ".note", ".rela.plt"})
    if (const ElfSection* section = image->FindSection(name))
      places.emplace_back(section->file_offset, section->size_bytes);
  for (const auto& [start, size] : places) {
    for (size_t i = start; i < start + size; ++i) {
      for (const uint8_t value :
           {uint8_t{0}, uint8_t{1}, uint8_t{0x7f}, uint8_t{0x80}, uint8_t{0xff},
            static_cast<uint8_t>(bytes[i] + 1), static_cast<uint8_t>(bytes[i] - 1)}) {
        std::vector<uint8_t> changed = bytes;
        changed[i] = value;
        UseAll(changed);
      }
    }
  }
}

TEST(ElfImageDamage, NamesThatSectionsShareStayInTheirBudget) {
  // 2,000 sections that all claim one name of 1 MiB.
  constexpr size_t kSections = 2000, kNameBytes = 1 << 20;
  std::vector<uint8_t> bytes(sizeof(Elf64_Ehdr) + kSections * sizeof(Elf64_Shdr) + kNameBytes + 1,
                             'n');
  bytes.back() = 0;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = 1;
  std::memcpy(bytes.data(), &header, sizeof(header));
  Elf64_Shdr section{};
  section.sh_type = SHT_STRTAB;
  section.sh_offset = sizeof(header) + kSections * sizeof(section);
  section.sh_size = kNameBytes + 1;
  for (size_t i = 0; i < kSections; ++i)
    std::memcpy(bytes.data() + sizeof(header) + i * sizeof(section), &section, sizeof(section));
  const absl::StatusOr<ElfImage> image = ImageOf(bytes);
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->sections().size(), kSections);
  size_t total = 0;
  for (const ElfSection& each : image->sections()) total += each.name.size();
  EXPECT_EQ(total, 8u << 20);
}

}  // namespace
}  // namespace stackray
