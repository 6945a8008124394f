// Finds the call frame information of one ELF file: .eh_frame through .eh_frame_hdr, .eh_frame
// alone, or .debug_frame when there is no .eh_frame. Input:   headers of a foreign file; every
// range is clipped to the file. Cost:    one read of at most 64 bytes.
#ifndef STACKRAY_SYMBOLIZER_CFI_FRAME_SECTION_H_
#define STACKRAY_SYMBOLIZER_CFI_FRAME_SECTION_H_

#include <cstdint>
#include <optional>

#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/machine.h"
#include "symbolizer/elf_image.h"

namespace stackray::cfi {

// Bytes in which entries lie, and their ELF addresses. Positions of entries are relative to
// `address`.
struct FrameRegion {
  uint64_t file_offset = 0, address = 0, size_bytes = 0;
  // Where a scan of all entries starts and ends, as positions.
  uint64_t scan_begin = 0, scan_end = 0;
  // Of .text, where entries may be relative to it: a JIT's.
  std::optional<uint64_t> text_address;
  bool is_debug_frame = false;
  // The end comes from a section header: a zero length is then no end (crtend.o's may be in the
  // middle).
  bool end_is_known = false;
  bool compressed = false;  // SHF_COMPRESSED, .debug_frame only.
  const Machine* machine = &kX86_64;
};

// The sorted table of .eh_frame_hdr (Linux Standard Base Core, "The .eh_frame_hdr section").
struct HeaderTableLocation {
  uint64_t file_offset = 0;
  uint64_t header_address = 0;
  uint64_t entry_count = 0;
  uint64_t table_address = 0;
  uint8_t encoding = 0;
};

struct FrameSection {
  FrameRegion region;
  std::optional<HeaderTableLocation> table;  // nullopt: absent or contradicts itself; scan instead.
};

// The .debug_frame of a file whose FindFrameSection() is another section: code that was built
// without .eh_frame beside code that has it. nullopt: none.
std::optional<FrameSection> FindDebugFrame(const ByteSource& source, const ElfImage& elf);

// nullopt: no call frame information.
std::optional<FrameSection> FindFrameSection(const ByteSource& source, const ElfImage& elf);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_FRAME_SECTION_H_
