// libs: stackray_elf stackray_symbolizer
// Symbol tables and names: the bytes are a file, and its own words are the addresses asked for.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "symbolizer/demangle.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/frame_names.h"
#include "symbolizer/symbol_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackray::MemorySource source(std::span<const uint8_t>(data, size));
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) {
    stackray::Demangle(std::string_view(reinterpret_cast<const char*>(data), size));
    return 0;
  }
  constexpr size_t kMaxSymbols = 1000;
  const absl::StatusOr<stackray::SymbolTable> table =
      stackray::SymbolTable::Create(*image, source, kMaxSymbols);
  if (!table.ok()) return 0;
  if (table->range_count() > 2 * kMaxSymbols) std::abort();
  stackray::FrameNames names(1 << 20);
  for (size_t at = 0; at + sizeof(uint64_t) <= size && at < 4096; at += sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, data + at, sizeof(address));
    const std::optional<std::string> name = table->FindName(source, address);
    if (name && (name->empty() || name->size() > stackray::kMaxSymbolNameBytes + 4)) std::abort();
    const std::vector<stackray::SourceLine> lines = names.Resolve(1, source, address);
    if (lines.size() > 1 || (lines.size() == 1 && lines[0].function.empty())) std::abort();
  }
  return 0;
}
