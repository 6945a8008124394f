// libs: stackray_cfi stackray_blob_reader
// Rows in any order that PageRows allows, against an array with one code for each byte of text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "symbolizer/cfi/page_encode.h"
#include "tests/symbolizer/cfi/blob_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stackray::cfi::PageRows rows;
  std::vector<u16> expected(PAGE_TEXT_BYTES, CODE_SPECIAL(SPECIAL_NONE));
  uint32_t offset = 0;
  for (size_t at = 0; at + 2 <= size; at += 2) {
    const bool goes_back = data[at] == 0xff;
    offset = goes_back ? offset * data[at + 1] / 256
                       : std::min<uint32_t>(offset + data[at], PAGE_TEXT_BYTES - 1);
    if (goes_back) {
      rows.Truncate(offset);
      // What was said before `offset` goes on.
      const u16 before = offset == 0 ? CODE_SPECIAL(SPECIAL_NONE) : expected[offset - 1];
      std::fill(expected.begin() + offset, expected.end(), before);
    } else {
      rows.Append(offset, data[at + 1]);
      std::fill(expected.begin() + offset, expected.end(), data[at + 1]);
    }
  }
  const std::vector<uint8_t> blob = stackray::cfi::EncodePage(rows.rows(), {});
  const stackray::DecodedPage page = stackray::DecodePage(blob);
  if (!page.error.empty() || page.code_at != expected) std::abort();
  return 0;
}
