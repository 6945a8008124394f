// Where the sections of debug information lie in one file, ready to be read; compressed ones are
// unpacked into scratch files first, .debug_aranges only when it is asked for.
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  some hundred bytes; what is unpacked is on disk, at most `max_unpacked_bytes` together.
// Threads: one; immutable after Open() but for AddressSets().
#ifndef STACKRAY_SYMBOLIZER_DWARF_DEBUG_SECTIONS_H_
#define STACKRAY_SYMBOLIZER_DWARF_DEBUG_SECTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/dwarf/scratch_file.h"
#include "symbolizer/dwarf/section_cursor.h"
#include "symbolizer/elf_image.h"

namespace stackray::dwarf {

// Of one file, or of one unit of a .dwp (whose units have slices of its sections).
struct SectionParts {
  SectionPart info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
  SectionPart aranges;     // Empty while it is packed: AddressSets() unpacks it.
  SectionPart unit_index;  // .debug_cu_index of a .dwp.
};

struct ScratchSettings {
  std::string directory = "/var/tmp";              // A disk's: /tmp is often memory.
  uint64_t max_unpacked_bytes = 1 << 30;           // Of one file's sections.
  uint64_t most_in_all_bytes = kMostScratchBytes;  // Of all files of this process.
};

class DebugSections {
 public:
  // Keeps `source`, which outlives this. `split`: the names that end in .dwo. A section that cannot
  // be unpacked is left out, as if the file did not have it.
  static DebugSections Open(const ElfImage& image, const ByteSource& source, bool split,
                            const ScratchSettings& scratch);
  const SectionParts& parts() const { return parts_; }
  // .debug_aranges, which hardly a file is asked for: the first call unpacks it. Empty: there is
  // none.
  SectionPart AddressSets();

 private:
  struct Packed {
    SectionPart stored;
    bool is_gnu;  // "ZLIB" and the size stand before it, not an Elf64_Chdr.
  };

  // What is left of the scratch files' bound goes down by it. Empty: it cannot be unpacked.
  SectionPart Unpack(const Packed& packed);

  SectionParts parts_;
  std::optional<Packed> packed_address_sets_;
  std::string directory_;
  uint64_t most_in_all_bytes_ = 0;
  uint64_t left_bytes_ = 0;
  std::vector<std::unique_ptr<ScratchFile>> unpacked_;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_DEBUG_SECTIONS_H_
