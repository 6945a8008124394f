// libs: stackray_cfi stackray_blob_reader
// Rows in any order that PageRows allows, against an array with one code for each byte of text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "symbolizer/cfi/page_encode.h"
#include "tests/symbolizer/cfi/blob_reader.h"

namespace {

// One code for each byte of text.
class Expected {
 public:
  void Append(uint32_t offset, u16 code) {
    Settle(offset);
    code_ = code;
  }
  // What was said before `offset` goes on.
  void Truncate(uint32_t offset) {
    Settle(offset);
    code_ = offset == 0 ? CODE_SPECIAL(SPECIAL_NONE) : codes_[offset - 1];
  }
  const std::vector<u16>& All() {
    Settle(PAGE_TEXT_BYTES);
    return codes_;
  }

 private:
  void Settle(uint32_t end) {
    if (from_ < end) std::fill(codes_.begin() + from_, codes_.begin() + end, code_);
    from_ = end;
  }
  std::vector<u16> codes_ = std::vector<u16>(PAGE_TEXT_BYTES);
  uint32_t from_ = 0;  // Here `code_` begins.
  u16 code_ = CODE_SPECIAL(SPECIAL_NONE);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stackray::cfi::PageRows rows;
  Expected expected;
  uint32_t offset = 0;
  for (size_t at = 0; at + 2 <= size; at += 2) {
    const bool goes_back = data[at] == 0xff;
    offset = goes_back ? offset * data[at + 1] / 256
                       : std::min<uint32_t>(offset + data[at], PAGE_TEXT_BYTES - 1);
    if (goes_back) {
      rows.Truncate(offset);
      expected.Truncate(offset);
    } else {
      rows.Append(offset, data[at + 1]);
      expected.Append(offset, data[at + 1]);
    }
  }
  const std::vector<uint8_t> blob = stackray::cfi::EncodePage(rows.rows(), {});
  const stackray::DecodedPage page = stackray::DecodePage(blob);
  if (!page.error.empty() || page.code_at != expected.All()) std::abort();
  return 0;
}
