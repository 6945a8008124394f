// Symbols of an ELF file by name: where a runtime's variables and functions are.
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  one symbol section and its names at a time, each at most kMaxSectionBytes; larger ones
//          are left out. Of what is found at most kMaxFoundSymbols, with names of at most
//          kMaxSymbolNameBytes: all symbols of a damaged file may share one long name, or parts of
//          it.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_SYMBOL_FINDER_H_
#define STACKRAY_INTERPRETERS_SYMBOL_FINDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

inline constexpr uint64_t kMaxSectionBytes = 32 << 20;
inline constexpr size_t kMaxFoundSymbols = 4096, kMaxSymbolNameBytes = 256;

struct FoundSymbol {
  uint64_t address = 0,
           size_bytes = 0;  // ELF address; of a thread-local symbol: offset in its block.
  bool is_thread_local = false;
};

using SymbolsByName = std::map<std::string, FoundSymbol, std::less<>>;

enum class SymbolSection { kDynamic, kAll };  // .dynsym; .symtab.

// All defined symbols of the section whose name `wanted` accepts. An ELF without the section, or
// with a damaged one, has none. Of several such sections, which the gABI does not allow, the first
// that can be read counts.
SymbolsByName FindSymbols(const ElfImage& image, const ByteSource& source, SymbolSection section,
                          const std::function<bool(std::string_view)>& wanted);

// Is `name` among the file's dynamic symbols? Asked of .gnu.hash, in a few small reads, whatever
// the file's size; nullopt where there is none that can be read: FindSymbols() knows. A false
// answer needs a file that lies about itself, and costs that file's frames only.
std::optional<bool> HasDynamicSymbol(const ElfImage& image, const ByteSource& source,
                                     std::string_view name);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_SYMBOL_FINDER_H_
