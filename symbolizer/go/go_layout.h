// Where Go's function table (pclntab) lies in a file, and the few addresses of the module's
// description that reading it needs. Layouts: runtime/symtab.go, runtime/runtime2.go and
// internal/abi/symtab.go of Go 1.16 to 1.26; the table survives `-ldflags="-s -w"` and strip(1),
// because the runtime itself reads it.
//
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  only this description; everything else is read when it is asked for.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_GO_GO_LAYOUT_H_
#define STACKRAY_SYMBOLIZER_GO_GO_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// How the table is laid out, told by the number that it begins with.
enum class GoVersion : uint8_t {
  kGo116,  // 1.16 and 1.17: entries of 8 bytes, absolute addresses.
  kGo118,  // 1.18 and 1.19: entries of 4 bytes, from the start of the text.
  kGo120,  // From 1.20 on: functions know their first line; smaller entries of inlined calls.
};

// A part of the file.
struct FilePart {
  uint64_t offset = 0, size_bytes = 0;
};

struct GoLayout {
  GoVersion version = GoVersion::kGo120;
  uint32_t quantum = 1;         // Bytes of the smallest instruction.
  uint64_t function_count = 0;  // Entries of the table of functions, without the one that ends it.
  uint64_t text_address = 0;    // What entries count from; 0 in kGo116.
  FilePart names, units, files, values, functions;
  // Where inlined calls are: what offsets (kGo116: addresses) count from, and the bytes there. No
  // bytes: not found, and inlined functions are not known.
  uint64_t inline_base = 0;
  FilePart inline_data;
};

// Whether it is worth looking: a section's name or a build id of Go's linker says so.
bool LooksLikeGo(const ElfImage& image);

// Looks for the table by its section's name, then by its first bytes in at most 256 MiB of data. In
// a position-independent file addresses are taken from relocations.
// Errors: NotFound (none, or not a Go program), Unimplemented (an unknown layout, 32-bit),
//         DataLoss, Unavailable (I/O).
absl::StatusOr<GoLayout> FindGoLayout(const ElfImage& image, const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_GO_GO_LAYOUT_H_
