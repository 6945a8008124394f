// Unpacks a compressed part of a file piece by piece into a scratch file: sections with
// SHF_COMPRESSED (System V gABI: zlib, zstd), GNU's older .zdebug_* sections, and .gnu_debugdata
// (xz).
// Input:   hostile; sizes are bounded by the scratch file's own bound, by what a section says of
//          itself, and for sections by kMostTimes what is packed: real ones hold 3 to 10 times.
// Memory:  zlib: a section of up to kMaxWholeBytes at once, packed and plain (libdeflate, three
//          times as fast); all others two windows of 64 KiB and the library's state: zlib 40 KiB;
//          zstd and xz at most kMaxDictionaryBytes.
// Threads: functions without state.
// Errors:  DataLoss (damaged), Unimplemented (another method, a dictionary over the bound),
//          ResourceExhausted (over a bound), Unavailable (I/O error).
#ifndef STACKRAY_SYMBOLIZER_DWARF_INFLATE_H_
#define STACKRAY_SYMBOLIZER_DWARF_INFLATE_H_

#include "absl/status/status.h"
#include "symbolizer/dwarf/scratch_file.h"
#include "symbolizer/dwarf/section_cursor.h"

namespace stackray::dwarf {

inline constexpr uint64_t kMaxWholeBytes = 8 << 20;
inline constexpr uint64_t kMaxDictionaryBytes = 16 << 20;
inline constexpr uint64_t kMostTimes = 64;             // Plain bytes a packed one …
inline constexpr uint64_t kSmallPlainBytes = 4 << 20;  // … of sections longer than this.

// `part` starts with an Elf64_Chdr.
absl::Status InflateSection(const SectionPart& part, ScratchFile& out);
// `part` starts with "ZLIB" and the size.
absl::Status InflateGnuSection(const SectionPart& part, ScratchFile& out);
absl::Status InflateXz(const SectionPart& part, ScratchFile& out);

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_INFLATE_H_
