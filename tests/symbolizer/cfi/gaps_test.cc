// What is read of code without call frame information, and what rows it gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "symbolizer/cfi/machine.h"
#include "symbolizer/cfi/x86_64_gaps.h"
#include "tests/symbolizer/counting_source.h"

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
constexpr u16 kTable = 1;  // Of the code around a gap.

// What FillX86Gaps() made of a page whose only gap is [begin, end).
struct Filled {
  uint64_t reads = 0;
  bool has_rows = false;  // At `begin`.
  bool is_done = false;
};

Filled Fill(uint32_t begin, uint32_t end, const std::vector<uint8_t>& page,
            GapEffort effort = GapEffort::kAll) {
  const test::CountingSource source(page);
  RuleEncoder encoder(*Machine::Of(EM_X86_64));
  PageRows rows;
  rows.Append(0, kTable);
  rows.Append(begin, kNone);
  if (end < PAGE_TEXT_BYTES) rows.Append(end, kTable);
  const GapPiece piece{.page_end = PAGE_TEXT_BYTES, .segment_file_end = page.size()};
  const absl::StatusOr<bool> done = FillX86Gaps(source, piece, effort, &encoder, &rows);
  EXPECT_TRUE(done.ok());
  const auto row = std::ranges::find(rows.rows(), begin, &PageRow::offset);
  return {.reads = source.reads(),
          .has_rows = row != rows.rows().end() && row->code != kNone,
          .is_done = done.ok() && *done};
}

// nop everywhere, but a ret in front of `at` and there `push %rbp; mov %rsp,%rbp; leave; ret`.
std::vector<uint8_t> PageWithCode(uint32_t at) {
  std::vector<uint8_t> page(2 * PAGE_TEXT_BYTES, 0x90);
  std::ranges::copy(std::to_array<uint8_t>({0xc3, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3}),
                    page.begin() + at - 1);
  return page;
}

TEST(Gaps, WhatAlignsTheNextFunctionIsNotRead) {
  for (const uint32_t bytes : {1u, 7u, 8u, 12u, 15u}) {
    const Filled filled = Fill(0x200 - bytes, 0x200, PageWithCode(0x200 - bytes));
    EXPECT_EQ(filled.reads, 0u) << bytes;
    EXPECT_FALSE(filled.has_rows) << bytes;
  }
}

TEST(Gaps, AnythingElseIs) {
  EXPECT_TRUE(Fill(0x1f8, 0x204, PageWithCode(0x1f8)).has_rows) << "12 bytes that align nothing";
  EXPECT_TRUE(Fill(0x1f0, 0x200, PageWithCode(0x1f0)).has_rows)
      << "16 bytes are more than what aligns";
  EXPECT_TRUE(
      Fill(PAGE_TEXT_BYTES - 12, PAGE_TEXT_BYTES, PageWithCode(PAGE_TEXT_BYTES - 12)).has_rows)
      << "it may go on in the next page";
}

TEST(Gaps, PaddingIsReadOnceAndGetsNoRows) {
  const Filled filled = Fill(0x1e0, 0x200, std::vector<uint8_t>(2 * PAGE_TEXT_BYTES, 0x90));
  EXPECT_EQ(filled.reads, 1u);
  EXPECT_FALSE(filled.has_rows);
  EXPECT_TRUE(filled.is_done);
}

TEST(Gaps, ALittleCodeIsLeftOutWhereOnlyMuchIsWorthIt) {
  const std::vector<uint8_t> page = PageWithCode(0x400);
  const Filled little = Fill(0x400, 0x7ff, page, GapEffort::kLargeOnly);
  EXPECT_FALSE(little.is_done);
  EXPECT_FALSE(little.has_rows);
  EXPECT_EQ(little.reads, 1u) << "it may have been padding";
  const Filled much = Fill(0x400, 0x800, page, GapEffort::kLargeOnly);
  EXPECT_TRUE(much.is_done);
  EXPECT_TRUE(much.has_rows);
  const std::vector<uint8_t> padding(2 * PAGE_TEXT_BYTES, 0x90);
  EXPECT_TRUE(Fill(0x1e0, 0x200, padding, GapEffort::kLargeOnly).is_done);
}

}  // namespace
}  // namespace stackray::cfi
