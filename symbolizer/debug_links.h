// What a file says about where its debug information is: .gnu_debuglink, .gnu_debugaltlink,
// .gnu_debugdata.
// Input:   a foreign file, so nothing in it is trusted: a link is a wish, not a permission
// (debug_files.h). Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_DEBUG_LINKS_H_
#define STACKRAY_SYMBOLIZER_DEBUG_LINKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "symbolizer/build_id.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct DebugLink {
  std::string file_name;  // Without directories: one that has a '/' is no link.
  uint32_t crc32 = 0;     // Of the whole debug file, as zlib's crc32().
};
std::optional<DebugLink> ReadDebugLink(const ElfImage& image, const ByteSource& source);

// The file that dwz moved common parts to.
struct AlternateLink {
  std::string path;      // Absolute, or relative to the directory of the file that has the link.
  std::string build_id;  // Lower-case hex; the other file must have this one.
};
std::optional<AlternateLink> ReadAlternateLink(const ElfImage& image, const ByteSource& source);

// Errors: as ByteSource::ReadAt. Reads the whole file.
absl::StatusOr<uint32_t> Crc32Of(const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_DEBUG_LINKS_H_
