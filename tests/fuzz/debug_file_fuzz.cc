// libs: stackray_dwarf
// Debug information: the bytes are a file, and its own words are the addresses asked for.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "symbolizer/debug_links.h"
#include "symbolizer/dwarf/debug_file.h"

namespace {

constexpr size_t kMaxKeptBytes = 16 << 20;

// A copy of the file is everything that it names: split units and the alternate file, itself.
class SameFile : public stackray::MemorySource {
 public:
  using stackray::MemorySource::MemorySource;
};

void Ask(stackray::dwarf::DebugFile& file, uint64_t address) {
  for (const stackray::SourceLine& line : file.Resolve(address))
    if (line.line < 0 || line.column < 0 || line.file.size() > 4096) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const stackray::MemorySource source(bytes);
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) return 0;
  (void)stackray::ReadDebugLink(*image, source);
  stackray::dwarf::DebugFileSettings settings;
  settings.scratch.max_unpacked_bytes = 4 << 20;
  settings.open_related = [&](const std::string&) { return std::make_unique<SameFile>(bytes); };
  const auto file = stackray::dwarf::DebugFile::Open(source, settings);
  if (file == nullptr) return 0;
  Ask(*file, image->entry());
  for (size_t at = 0; at + sizeof(uint64_t) <= size && at < 512; at += sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, data + at, sizeof(address));
    Ask(*file, address);
  }
  for (const stackray::ElfSegment& segment : image->segments())
    if (segment.executable)
      for (uint64_t i = 0; i < 8; ++i) Ask(*file, segment.address + i * segment.memory_bytes / 8);
  if (file->bytes() > kMaxKeptBytes) std::abort();
  return 0;
}
