// Functions that are the first one of a stack of their own, although another function's frame
// stands above theirs: what lies there belongs to somebody else by now. Known by their names in
//   .dynsym. greenlet (since 2.0): UserGreenlet::inner_bootstrap(). A greenlet is begun in the
//   middle of the C stack of whoever switches to it first, and keeps only what lies below:
//   greenlet/src/greenlet/TUserGreenlet.cpp, g_initialstub(). It never returns.
// Input:   a foreign file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_CFI_FIRST_FUNCTIONS_H_
#define STACKRAY_SYMBOLIZER_CFI_FIRST_FUNCTIONS_H_

#include <cstdint>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray::cfi {

struct AddressRange {
  uint64_t begin = 0, end = 0;  // ELF addresses.
};

// Reads the names of small shared libraries only. Empty where they cannot be read.
std::vector<AddressRange> FindFirstFunctions(const ElfImage& elf, const ByteSource& source);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_FIRST_FUNCTIONS_H_
