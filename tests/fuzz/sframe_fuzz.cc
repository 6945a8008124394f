// libs: stackray_cfi stackray_blob_reader stackray_made_frames
// Any bytes as a file's .sframe, for both machines: the pages keep the blob's contract and say the
// same twice.
#include <elf.h>

#include <cstdint>
#include <cstdlib>

#include "symbolizer/cfi/cfi_source.h"
#include "tests/symbolizer/cfi/blob_reader.h"
#include "tests/symbolizer/cfi/frame_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  for (const uint16_t machine : {uint16_t{EM_X86_64}, uint16_t{EM_AARCH64}}) {
    stackray::FrameFile file;
    file.machine = machine;
    file.with_header = false;
    file.sframe.assign(data, data + size);
    // The machine's own number, so that both are read.
    if (size > 4 && file.sframe[4] >= 2 && file.sframe[4] <= 3)
      file.sframe[4] = machine == EM_X86_64 ? 3 : 2;
    const std::vector<uint8_t> bytes = file.Build().bytes;
    const stackray::MemorySource source(bytes);
    const absl::StatusOr<stackray::ElfImage> elf = stackray::ElfImage::Create(source);
    if (!elf.ok()) std::abort();
    absl::StatusOr<stackray::UnwindTables> tables = stackray::UnwindTables::Create(source, *elf);
    if (!tables.ok()) continue;
    const stackray::PageRange range = tables->pages();
    for (uint32_t page = range.first_page; page < range.first_page + range.page_count; ++page) {
      const absl::StatusOr<std::vector<uint8_t>> blob = tables->BuildPage(page);
      if (!blob.ok() || !stackray::DecodePage(*blob, machine).error.empty()) std::abort();
      const absl::StatusOr<std::vector<uint8_t>> again = tables->BuildPage(page);
      if (!again.ok() || *again != *blob) std::abort();
    }
  }
  return 0;
}
