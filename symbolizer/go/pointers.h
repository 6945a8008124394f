// Addresses as the loader will have put them into a file's data: words of the file, or its relative
// relocations where the file is position independent.
// Input:   a foreign file, so nothing in it is trusted. At most 64 MiB of relocations are read a
// call. Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_GO_POINTERS_H_
#define STACKRAY_SYMBOLIZER_GO_POINTERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// The 8-byte words from `address` on; empty where the file has not all of them.
std::vector<uint64_t> ReadPointers(const ElfImage& image, const ByteSource& source,
                                   uint64_t address, size_t count);

// Addresses of words of the file's data that point to `target`: of .go.module, .noptrdata and .data
// or, where there are no such sections, of all data. At most 16.
std::vector<uint64_t> FindPointersTo(const ElfImage& image, const ByteSource& source,
                                     uint64_t target);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_GO_POINTERS_H_
