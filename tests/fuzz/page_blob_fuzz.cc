// libs: stackray_blob_reader
// The look-up that BPF and the host share, on a hostile blob: it stays inside the chunk (the
// sanitizers see to that), and on a blob that keeps its contract it finds what a plain walk over
// the rows finds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "tests/symbolizer/cfi/blob_reader.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

#include "bpf/scratch.h"

namespace {

uint8_t* g_chunk = nullptr;
u8* env_chunk(scratch*, u32) { return g_chunk; }
void env_count(u32) {}
int env_find_jit_table(scratch*, u64) { return 0; }

#include "bpf/table_lookup.h"

u16 FindCode(scratch* s, u32 base, u32 in_page, int* end) {
  *end = find_code_in_blob(s, g_chunk, base, in_page);
  return static_cast<u16>(s->code);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<scratch> state = std::make_unique<scratch>();
  if (size < 4 || size > CHUNK_BYTES / 2) return 0;
  const std::unique_ptr<uint8_t[]> chunk(new uint8_t[CHUNK_MAP_BYTES]());
  g_chunk = chunk.get();
  // The first bytes choose where the blob lies and whether its header is mended.
  uint32_t choice;
  std::memcpy(&choice, data, sizeof(choice));
  const std::span<const uint8_t> blob(data + 4, size - 4);
  const u32 places = static_cast<u32>((CHUNK_BYTES - blob.size()) / HANDLE_UNIT);
  const u32 base = choice % places * HANDLE_UNIT;
  std::copy(blob.begin(), blob.end(), chunk.get() + base);
  const bool is_good = stackray::DecodePage(blob).error.empty() &&
                       base + blob.size() + 256 <= CHUNK_BYTES;  // The store keeps these free.
  for (u32 in_page = 0; in_page < PAGE_TEXT_BYTES; in_page += 37) {
    int end = END_NONE;
    const u16 code = FindCode(state.get(), base, in_page, &end);
    if (is_good && (end != END_NONE || code != stackray::FindCodeLinearly(blob, in_page)))
      std::abort();
  }
  // The whole look-up, with directory and page anywhere.
  range_table table{choice, choice & 7, 1 + (choice >> 3 & 1023), RANGE_HAS_TABLE};
  state->tables[0] = table;
  state->current_range = 0;
  for (u32 page = 0; page < 4; ++page)
    find_code_inline(state.get(), static_cast<u64>(page + (choice & 7)) << PAGE_TEXT_SHIFT);
  g_chunk = nullptr;
  return 0;
}
