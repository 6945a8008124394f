// libs: stackray_symbolizer
// Go's function table: the bytes are a file, and its own words are the addresses asked for.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "symbolizer/go/go_table.h"

namespace {

void Ask(const stackray::GoTable& table, const stackray::ByteSource& source, uint64_t address) {
  const auto lines = table.Resolve(source, address);
  if (lines.size() > stackray::GoTable::kMaxInlined + 2) std::abort();
  for (const stackray::SourceLine& line : lines)
    if (line.function.empty() || line.line < 0 || line.start_line < 0 || line.file.size() > 4096)
      std::abort();
  if (const auto function = table.FindFunction(source, address)) {
    const auto name = table.NameOf(source, *function);
    if (!lines.empty() && (!name || *name != lines.back().function)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackray::MemorySource source(std::span(data, size));
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) return 0;
  const absl::StatusOr<stackray::GoTable> table = stackray::GoTable::Open(*image, source);
  if (!table.ok()) return 0;
  for (const stackray::ElfSegment& segment : image->segments())
    if (segment.executable)
      for (uint64_t i = 0; i < 16; ++i)
        Ask(*table, source, segment.address + i * segment.memory_bytes / 16);
  const uint64_t from = table->layout().functions.offset;
  for (uint64_t at = from; at + sizeof(uint32_t) <= size && at < from + 64; at += 8) {
    uint32_t entry;
    std::memcpy(&entry, data + at, sizeof(entry));
    Ask(*table, source, table->layout().text_address + entry);
  }
  return 0;
}
