// libs: stackray_cfi stackray_blob_reader
// Unwind pages from any file: whatever comes out keeps the blob's contract and says the same twice.
// And where functions begin.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/cfi/function_begins.h"
#include "tests/symbolizer/cfi/blob_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackray::MemorySource source(std::span<const uint8_t>(data, size));
  const absl::StatusOr<stackray::ElfImage> elf = stackray::ElfImage::Create(source);
  if (!elf.ok()) return 0;
  stackray::FunctionBegins begins;
  for (const stackray::ElfSegment& segment : elf->segments()) {
    for (uint64_t i = 0; i < 64; ++i) {
      const uint64_t address = segment.address + i * (segment.memory_bytes / 64 + 1);
      const std::optional<uint64_t> begin = begins.Find(1, source, address);
      if (begin && *begin > address) std::abort();
    }
    if (&segment - elf->segments().data() == 3) break;
  }
  absl::StatusOr<stackray::UnwindTables> tables = stackray::UnwindTables::Create(source, *elf);
  if (!tables.ok()) return 0;
  const stackray::PageRange range = tables->pages();
  for (uint32_t i = 0; i < std::min(range.page_count, 4u); ++i) {
    const absl::StatusOr<std::vector<uint8_t>> blob = tables->BuildPage(range.first_page + i);
    if (!blob.ok()) continue;
    if (!stackray::DecodePage(*blob, elf->machine()).error.empty()) std::abort();
    if (i > 0) continue;
    const absl::StatusOr<std::vector<uint8_t>> again = tables->BuildPage(range.first_page + i);
    if (!again.ok() || *again != *blob) std::abort();
    const absl::StatusOr<std::vector<uint8_t>> cheap = tables->BuildPageIfCheap(range.first_page);
    if (cheap.ok() && !cheap->empty() && *cheap != *blob) std::abort();
  }
  return 0;
}
