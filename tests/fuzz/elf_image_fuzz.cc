// libs: stackray_elf stackray_symbolizer
// ELF headers, notes and what a batch says about the file, from any bytes.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>

#include "symbolizer/elf_image.h"
#include "symbolizer/executable_info.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackray::MemorySource source(std::span<const uint8_t>(data, size));
  const absl::StatusOr<stackray::ExecutableInfo> info =
      stackray::DescribeExecutable(source, "file");
  if (!info.ok()) std::abort();  // Memory can always be read.
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) return 0;
  for (const stackray::ElfSegment& segment : image->segments()) {
    if (segment.address > std::numeric_limits<uint64_t>::max() - segment.memory_bytes) std::abort();
    const stackray::MappingInfo mapping = stackray::MappingOf(*info, segment.address);
    if (segment.memory_bytes > 0 && mapping.start >= mapping.limit) std::abort();
    if (segment.file_bytes > 0 && !image->AddressOfOffset(segment.file_offset)) std::abort();
    if (segment.file_bytes > 0 && !image->OffsetOfAddress(segment.address)) std::abort();
  }
  for (const stackray::ElfSection& section : image->sections())
    if (image->FindSection(section.name) == nullptr) std::abort();
  return 0;
}
