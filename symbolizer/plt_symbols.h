// Stubs of the procedure linkage table: code that no symbol names, but whose jump slot a relocation
// does. Input:   a foreign process's file, so nothing in it is trusted. Memory:  at most 65,536
// stubs.
#ifndef STACKRAY_SYMBOLIZER_PLT_SYMBOLS_H_
#define STACKRAY_SYMBOLIZER_PLT_SYMBOLS_H_

#include <cstdint>
#include <vector>

#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct PltEntry {
  uint64_t address = 0;
  uint32_t size_bytes = 0;
  uint32_t name = 0;  // Offset into the string table of .dynsym.
};

// Every stub of .plt, .plt.sec and .plt.got whose instructions load a slot that a JUMP_SLOT or
// GLOB_DAT relocation fills. Stubs of another form, and the header of .plt, are left out.
std::vector<PltEntry> FindPltEntries(const ElfImage& image, const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_PLT_SYMBOLS_H_
