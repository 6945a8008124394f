// libs: stackray_dwarf
// Debug information: the bytes are a file, and its own words are the addresses asked for.
//
// All that it names, split units and the alternate file, is a copy of it; or a second file behind
// it, if the last four bytes say where that begins. What is no ELF file is a packed section of each
// kind.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "symbolizer/debug_links.h"
#include "symbolizer/dwarf/debug_file.h"
#include "symbolizer/dwarf/inflate.h"
#include "symbolizer/dwarf/scratch_file.h"

namespace {

constexpr size_t kMaxKeptBytes = 16 << 20;
constexpr uint64_t kAsked = 48;  // Addresses of each executable segment.

struct Files {
  std::span<const uint8_t> first, named;
};

Files Split(std::span<const uint8_t> input) {
  constexpr uint8_t kElf[] = {0x7f, 'E', 'L', 'F'};
  uint32_t at = 0;
  if (input.size() < 2 * sizeof(at)) return {input, input};
  std::memcpy(&at, input.data() + input.size() - sizeof(at), sizeof(at));
  const auto both = input.first(input.size() - sizeof(at));
  if (at == 0 || at > both.size() || both.size() - at < sizeof(kElf) ||
      std::memcmp(both.data() + at, kElf, sizeof(kElf)) != 0)
    return {input, input};
  return {both.first(at), both.subspan(at)};
}

void Inflate(const stackray::ByteSource& source) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const stackray::dwarf::SectionPart part{&source, 0, source.size_bytes()};
  for (const auto inflate : {stackray::dwarf::InflateSection, stackray::dwarf::InflateGnuSection,
                             stackray::dwarf::InflateXz}) {
    const auto file = stackray::dwarf::ScratchFile::Create("/tmp", kMostBytes);
    if (!file.ok()) std::abort();
    (void)inflate(part, **file);
    if ((*file)->size_bytes() > kMostBytes) std::abort();
  }
}

void Ask(stackray::dwarf::DebugFile& file, uint64_t address) {
  for (const stackray::SourceLine& line : file.Resolve(address))
    if (line.line < 0 || line.column < 0 || line.file.size() > 4096) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [bytes, named] = Split({data, size});
  const stackray::MemorySource source(bytes);
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) {
    Inflate(source);
    return 0;
  }
  (void)stackray::ReadDebugLink(*image, source);
  stackray::dwarf::DebugFileSettings settings;
  settings.scratch.max_unpacked_bytes = 4 << 20;
  settings.open_related = [named = named](const std::string&) {
    return std::make_unique<stackray::MemorySource>(named);
  };
  const auto file = stackray::dwarf::DebugFile::Open(source, settings);
  if (file == nullptr) return 0;
  Ask(*file, image->entry());
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size() && at < 512; at += sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, bytes.data() + at, sizeof(address));
    Ask(*file, address);
  }
  for (const stackray::ElfSegment& segment : image->segments())
    if (segment.executable)
      for (uint64_t i = 0; i < kAsked; ++i)
        Ask(*file, segment.address + i * segment.memory_bytes / kAsked);
  if (file->bytes() > kMaxKeptBytes) std::abort();
  return 0;
}
