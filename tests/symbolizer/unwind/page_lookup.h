// The look-up of bpf/table_lookup.h on the host, over MemoryRows, and pages whose every answer is
// known.
#ifndef STACKRAY_TESTS_SYMBOLIZER_UNWIND_PAGE_LOOKUP_H_
#define STACKRAY_TESTS_SYMBOLIZER_UNWIND_PAGE_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/scratch.h"
#include "tests/recorder/memory_rows.h"

namespace stackray {

struct FoundCode {
  int end = 0;  // enum end_reason.
  u16 code = 0;
  bool miss = false;  // This look-up was the first to want the page.
};

// Threads: one at a time each.
class PageLookup {
 public:
  explicit PageLookup(MemoryRows& rows);
  // As a program that found `entry` for the code's file.
  FoundCode Find(const file_entry& entry, uint64_t file_offset);

 private:
  MemoryRows& rows_;
  std::unique_ptr<scratch> scratch_;
};

// What PatternPage(file, page) answers in one of its 64 blocks: never a rule, never special.
u16 PatternCode(uint64_t file, uint32_t page, uint32_t block);
// A blob of `bytes` (a multiple of 16, at least 336) with one row a block.
std::vector<uint8_t> PatternPage(uint64_t file, uint32_t page, uint32_t bytes);

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_UNWIND_PAGE_LOOKUP_H_
