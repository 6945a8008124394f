// The dynamic loader's own symbols of an ELF file, found as the loader finds them: by PT_DYNAMIC
// alone. They are there when the section headers are not.
//
// Input:   a foreign file, so nothing in it is trusted.
// Cost:    at most 1 MiB of hash table is read.
// Threads: a function without state.
#ifndef STACKRAY_SYMBOLIZER_DYNAMIC_SYMBOLS_H_
#define STACKRAY_SYMBOLIZER_DYNAMIC_SYMBOLS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct DynamicSymbols {
  uint64_t file_offset = 0, count = 0;              // Of Elf64_Sym.
  uint64_t names_offset = 0, names_size_bytes = 0;  // The string table.
};

// Nothing lies outside of the file. Errors: NotFound (there are none), DataLoss (damaged),
// Unavailable (I/O error).
absl::StatusOr<DynamicSymbols> FindDynamicSymbols(const ElfImage& image, const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_DYNAMIC_SYMBOLS_H_
