// Bytes that are handed to a runtime: their rows, and those of all others, which stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {
namespace {

constexpr u16 kRuntime = CODE_SPECIAL(SPECIAL_RUNTIME);

TEST(RuntimeRows, TheBytesAreTheRuntimesAndNoOthers) {
  const auto before = OpenFile("/proc/self/exe"), after = OpenFile("/proc/self/exe");
  ASSERT_TRUE(before->tables && after->tables) << before->status;
  const uint32_t page = before->tables->pages().first_page + 1;
  const uint64_t begin = uint64_t{page} << PAGE_TEXT_SHIFT;
  const std::vector<uint32_t> marked = {0, 0x123, 0x124, 0x1000, PAGE_TEXT_BYTES - 1};
  std::vector<uint64_t> offsets = {begin - 1};  // Of another page.
  for (const uint32_t at : marked) offsets.push_back(begin + at);
  offsets.push_back(begin + PAGE_TEXT_BYTES);
  after->tables->HandToRuntime(offsets);
  const auto plain = before->tables->BuildPage(page), changed = after->tables->BuildPage(page);
  ASSERT_TRUE(plain.ok() && changed.ok());
  const DecodedPage old_rows = DecodePage(*plain), new_rows = DecodePage(*changed);
  ASSERT_EQ(old_rows.error + new_rows.error, "");
  for (uint32_t at = 0; at < PAGE_TEXT_BYTES; ++at) {
    const bool is_marked = std::ranges::find(marked, at) != marked.end();
    ASSERT_EQ(new_rows.code_at[at], is_marked ? kRuntime : old_rows.code_at[at]) << at;
  }
}

}  // namespace
}  // namespace stackray
