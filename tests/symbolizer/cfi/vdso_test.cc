// The vDSO has no file: its image in our own memory is the source.
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "fmt/format.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {
namespace {

// The mapping's end, from /proc/self/maps.
std::span<const uint8_t> VdsoImage() {
  const uint64_t begin = getauxval(AT_SYSINFO_EHDR);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; begin != 0 && std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &first, &last) == 2 && first == begin)
      return {reinterpret_cast<const uint8_t*>(begin), last - first};
  }
  return {};
}

TEST(Vdso, YieldsPagesWithRows) {
  const std::span<const uint8_t> image = VdsoImage();
  if (image.empty()) GTEST_SKIP() << "this process has no vDSO";
  const std::unique_ptr<OpenedTables> opened = OpenBytes({image.begin(), image.end()});
  ASSERT_TRUE(opened->tables) << opened->status;
  const PageRange range = opened->tables->pages();
  ASSERT_EQ(range.first_page, 0u);
  ASSERT_GE(range.page_count, 1u);
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(0);
  ASSERT_TRUE(blob.ok()) << blob.status();
  const DecodedPage page = DecodePage(*blob, opened->elf->machine());
  EXPECT_EQ(page.error, "");
  EXPECT_GT(page.row_starts.size(), 4u);
  fmt::print("vDSO: {} bytes, {} pages, {} rows, {} rules\n", image.size(), range.page_count,
             page.row_starts.size(), page.rules.size());
}

TEST(Vdso, ClockGettimeStartsWithItsReturnAddressOnTop) {
  const std::span<const uint8_t> image = VdsoImage();
  if (image.empty()) GTEST_SKIP() << "this process has no vDSO";
  const std::unique_ptr<OpenedTables> opened = OpenBytes({image.begin(), image.end()});
  ASSERT_TRUE(opened->tables) << opened->status;
  const ElfSection* symbols = opened->elf->FindSection(".dynsym");
  const ElfSection* names = opened->elf->FindSection(".dynstr");
  ASSERT_TRUE(symbols != nullptr && names != nullptr);
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size_bytes; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, image.data() + symbols->file_offset + at, sizeof(symbol));
    const char* name =
        reinterpret_cast<const char*>(image.data()) + names->file_offset + symbol.st_name;
    if (std::string(name) != "__vdso_clock_gettime" &&
        std::string(name) != "__kernel_clock_gettime")
      continue;
    const std::optional<uint64_t> offset = opened->elf->OffsetOfAddress(symbol.st_value);
    ASSERT_TRUE(offset);
    const absl::StatusOr<std::vector<uint8_t>> blob =
        opened->tables->BuildPage(static_cast<uint32_t>(*offset >> PAGE_TEXT_SHIFT));
    ASSERT_TRUE(blob.ok());
    const u16 code = FindCodeLinearly(*blob, *offset % PAGE_TEXT_BYTES);
    const uint16_t machine = opened->elf->machine();
    EXPECT_EQ(DescribeCode(code, {}, machine).cfa, machine == EM_AARCH64 ? "sp+0" : "rsp+8");
    return;
  }
  FAIL() << "no __vdso_clock_gettime in the vDSO";
}

}  // namespace
}  // namespace stackray
