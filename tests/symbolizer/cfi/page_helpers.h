// Short ways to write entries and to ask made-up files for their pages, for tests.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_PAGE_HELPERS_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_PAGE_HELPERS_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/frame_file.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {

constexpr uint32_t kFirstPage = FrameFile::kTextOffset >> PAGE_TEXT_SHIFT;

inline std::vector<uint8_t> Advance(unsigned bytes) { return {static_cast<uint8_t>(0x40 | bytes)}; }

// DW_CFA_def_cfa_offset.
inline std::vector<uint8_t> CfaOffset(uint64_t offset) {
  std::vector<uint8_t> bytes = {0x0e};
  for (; offset >= 0x80; offset >>= 7) bytes.push_back(static_cast<uint8_t>(offset | 0x80));
  bytes.push_back(static_cast<uint8_t>(offset));
  return bytes;
}

inline std::vector<uint8_t> Join(std::initializer_list<std::vector<uint8_t>> parts) {
  std::vector<uint8_t> all;
  for (const std::vector<uint8_t>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline DecodedPage BuildAndDecode(UnwindTables& tables, uint32_t page) {
  const absl::StatusOr<std::vector<uint8_t>> blob = tables.BuildPage(page);
  EXPECT_TRUE(blob.ok()) << blob.status();
  if (!blob.ok()) return {};
  DecodedPage decoded = DecodePage(*blob);
  EXPECT_EQ(decoded.error, "");
  for (const uint32_t offset : decoded.row_starts)
    EXPECT_EQ(FindCodeLinearly(*blob, offset), decoded.code_at[offset]);
  return decoded;
}

inline std::string TextAt(const DecodedPage& page, uint32_t offset) {
  if (page.code_at.empty()) return "no page";
  const CodeText text = DescribeCode(page.code_at[offset], page.rules);
  return text.special.empty() ? text.cfa : text.special;
}

inline DecodedPage FirstPage(const FrameFile& file) {
  const std::unique_ptr<OpenedTables> opened = OpenBytes(file.Build().bytes);
  EXPECT_TRUE(opened->tables) << opened->status;
  return opened->tables ? BuildAndDecode(*opened->tables, kFirstPage) : DecodedPage{};
}

inline FrameFile SomeFunctions() {
  FrameFile file;
  for (uint64_t i = 0; i < 700; ++i)
    file.entries.push_back(
        {i * 40, 32 + i % 9,
         Join({Advance(1), CfaOffset(16 + 8 * (i % 5)), Advance(20), CfaOffset(8)})});
  return file;
}

inline std::vector<std::vector<u16>> AllPages(const FrameFile::Built& built) {
  const std::unique_ptr<OpenedTables> opened = OpenBytes(built.bytes);
  EXPECT_TRUE(opened->tables) << opened->status;
  std::vector<std::vector<u16>> pages;
  if (!opened->tables) return pages;
  const PageRange range = opened->tables->pages();
  for (uint32_t i = 0; i < range.page_count; ++i)
    pages.push_back(BuildAndDecode(*opened->tables, range.first_page + i).code_at);
  return pages;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_PAGE_HELPERS_H_
