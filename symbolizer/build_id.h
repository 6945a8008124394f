// Names of a file's content: GNU and Go build ids, and the htlhash that every file has.
// Input:   a foreign process's file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_BUILD_ID_H_
#define STACKRAY_SYMBOLIZER_BUILD_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// Lower-case hex of the first NT_GNU_BUILD_ID note (kernel/elf_notes.h); "" when there is none.
std::string GnuBuildId(const ElfImage& image);

// What `go tool buildid` prints: the first note of name "Go" and type 4; "" when there is none, or
// when it is over 512 bytes or not printable ASCII.
std::string GoBuildId(const ElfImage& image);

// 32 hex digits: the first 16 bytes of SHA-256 over the first min(4096, length) bytes, the last
// min(4096, length) bytes (for a short file the same ones again) and the length as a big-endian
// u64. Errors: as ByteSource::ReadAt.
absl::StatusOr<std::string> Htlhash(const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_BUILD_ID_H_
