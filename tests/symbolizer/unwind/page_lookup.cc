#include "tests/symbolizer/unwind/page_lookup.h"

#include <cstring>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

u8* env_chunk(scratch* s, u32 index) {
  return reinterpret_cast<MemoryRows*>(s->host)->Chunk(index);
}
void env_count(u32) {}
int env_find_jit_table(scratch*, u64) { return 0; }

#include "bpf/table_lookup.h"

}  // namespace

PageLookup::PageLookup(MemoryRows& rows) : rows_(rows), scratch_(std::make_unique<scratch>()) {}

FoundCode PageLookup::Find(const file_entry& entry, uint64_t file_offset) {
  scratch* s = scratch_.get();
  s->host = reinterpret_cast<u64>(&rows_);
  s->miss = 0;
  s->current_range = 0;
  s->tables[0] = {.directory = entry.directory,
                  .first_page = entry.first_page,
                  .page_count = entry.page_count,
                  .state = RANGE_HAS_TABLE};
  const int end = find_code_inline(s, file_offset);
  return {end, static_cast<u16>(s->code), s->miss != 0};
}

u16 PatternCode(uint64_t file, uint32_t page, uint32_t block) {
  const uint64_t mixed = (file * 1'000'003 + page * 64 + block) * 0x9e3779b97f4a7c15ull;
  return static_cast<u16>(mixed >> 51);  // 13 bits: base 0.
}

std::vector<uint8_t> PatternPage(uint64_t file, uint32_t page, uint32_t bytes) {
  page_header header = {};
  for (uint32_t b = 0; b <= PAGE_BLOCKS; ++b) header.start[b] = static_cast<u16>(b);
  header.rules_offset = sizeof(header) + PAGE_BLOCKS * ROW_BYTES;
  header.size_bytes = bytes;
  std::vector<uint8_t> blob(bytes);
  std::memcpy(blob.data(), &header, sizeof(header));
  for (uint32_t b = 0; b < PAGE_BLOCKS; ++b) {
    const u16 code = PatternCode(file, page, b);
    std::memcpy(blob.data() + sizeof(header) + b * ROW_BYTES + 1, &code, sizeof(code));
  }
  return blob;
}

}  // namespace stackray
