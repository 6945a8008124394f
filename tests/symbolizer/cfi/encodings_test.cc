// Every way to write the same table and the same entries gives the same pages; a damaged table too.
#include <gtest/gtest.h>

#include "tests/symbolizer/cfi/page_helpers.h"

namespace stackray {
namespace {

TEST(Encodings, AllOfTheTableGiveTheSamePages) {
  FrameFile file = SomeFunctions();
  const std::vector<std::vector<u16>> expected = AllPages(file.Build());
  ASSERT_EQ(expected.size(), 2u);
  for (uint64_t i = 0; i < PAGE_TEXT_BYTES; ++i) {
    const bool is_start = expected[0][i] == CODE_SPECIAL(SPECIAL_START);
    const bool touches_the_next = is_start && i % 40 == 39;
    EXPECT_EQ(is_start || expected[0][i] == CODE_SPECIAL(SPECIAL_NONE),
              touches_the_next || i % 40 >= 32 + i / 40 % 9)
        << i;
  }
  for (const int encoding : {0x3b, 0x3c, 0x34, 0x30, 0x1b, 0x1c, 0x00, 0x04, 0x0b, 0x03}) {
    file.table_encoding = static_cast<uint8_t>(encoding);
    EXPECT_EQ(AllPages(file.Build()), expected) << encoding;
  }
  // Not searchable, not resolvable, or (0x33, 0x32: unsigned, but the text lies before the table)
  // wrong: the entries themselves are gone through.
  for (const int encoding : {0xff, 0x31, 0x2b, 0x4b, 0xbb, 0x33, 0x32}) {
    file.table_encoding = static_cast<uint8_t>(encoding);
    EXPECT_EQ(AllPages(file.Build()), expected) << encoding;
  }
}

TEST(Encodings, AllOfTheEntriesGiveTheSamePages) {
  FrameFile file = SomeFunctions();
  const std::vector<std::vector<u16>> expected = AllPages(file.Build());
  for (const bool with_header : {true, false}) {
    file.with_header = with_header;
    for (const int encoding : {0x1b, 0x1c, 0x10, 0x00, 0x04, 0x0c, 0x0b, 0x03, 0x01}) {
      file.entry_encoding = static_cast<uint8_t>(encoding);
      EXPECT_EQ(AllPages(file.Build()), expected) << encoding << with_header;
    }
  }
}

// Whoever loads a file knows where .text is (DW_EH_PE_textrel); the file alone does not say it.
TEST(Encodings, EntriesRelativeToTextAreRefused) {
  FrameFile file = SomeFunctions();
  file.with_header = false;
  for (const int encoding : {0x20, 0x23, 0x2b}) {
    file.entry_encoding = static_cast<uint8_t>(encoding);
    for (const std::vector<u16>& page : AllPages(file.Build()))
      for (const u16 code : page) ASSERT_EQ(code, CODE_SPECIAL(SPECIAL_NONE)) << encoding;
  }
}

TEST(Encodings, SegmentsAreEnoughWithoutSections) {
  FrameFile file = SomeFunctions();
  const std::vector<std::vector<u16>> expected = AllPages(file.Build());
  file.with_sections = false;
  EXPECT_EQ(AllPages(file.Build()), expected);
  file.table_encoding = 0xff;
  EXPECT_EQ(AllPages(file.Build()), expected);
}

TEST(DamagedHeader, IsReplacedByGoingThroughTheEntries) {
  const FrameFile file = SomeFunctions();
  const FrameFile::Built good = file.Build();
  const std::vector<std::vector<u16>> expected = AllPages(good);
  FrameFile::Built shifted = good;  // An address that is not where its entry begins.
  shifted.bytes[good.table_offset + 100 * good.table_entry_bytes] ^= 4;
  EXPECT_EQ(AllPages(shifted), expected);
  FrameFile::Built elsewhere = good;  // A position in the middle of an entry.
  elsewhere.bytes[good.table_offset + 5 * good.table_entry_bytes + 4] ^= 4;
  EXPECT_EQ(AllPages(elsewhere), expected);
  FrameFile::Built too_many = good;  // A count beyond the segment.
  too_many.bytes[good.table_offset - 1] = 0x7f;
  EXPECT_EQ(AllPages(too_many), expected);
}

}  // namespace
}  // namespace stackray
