// The blob of one page (bpf/shared/unwind_table.h) from rows that arrive roughly in order.
// Memory:  4 bytes a row, at most 16,384 rows, until Clear().
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_PAGE_ENCODE_H_
#define STACKRAY_SYMBOLIZER_CFI_PAGE_ENCODE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace stackray::cfi {

// One row of a page: from `offset` on `code` holds, until the next row.
struct PageRow {
  u16 offset = 0;
  u16 code = 0;
};

class PageRows {
 public:
  PageRows() { Clear(); }
  // Nothing holds anywhere.
  void Clear();

  // From `offset` (below PAGE_TEXT_BYTES, not below an earlier one) on `code` holds. Of several
  // rows with the same offset the last wins; a row that changes nothing is not kept.
  void Append(uint32_t offset, u16 code) {
    PageRow& last = rows_.back();
    if (code == last.code) return;
    if (offset == last.offset)
      Replace(code);
    else
      rows_.push_back({static_cast<u16>(offset), code});
  }

  // Forgets what was said about `offset` and later, so that Append may go back there.
  void Truncate(uint32_t offset);

  // Where nothing holds, what `other` (as rows() gives them) says.
  void FillFrom(std::span<const PageRow> other);

  // [begin, end) has `code` now. Costs a pass over the rows.
  void Overwrite(uint32_t begin, uint32_t end, u16 code);

  // Ascending; the first has offset 0; neighbours differ in code.
  std::span<const PageRow> rows() const { return rows_; }
  size_t memory_bytes() const { return rows_.capacity() * sizeof(PageRow); }

 private:
  void Replace(u16 code);
  std::vector<PageRow> rows_;
};

// `rows` as PageRows::rows() gives them; at most PAGE_MAX_RULES rules.
std::vector<uint8_t> EncodePage(std::span<const PageRow> rows, std::span<const unwind_rule> rules);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_PAGE_ENCODE_H_
