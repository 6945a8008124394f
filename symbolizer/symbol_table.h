// Sorted names of one ELF file's code, from .symtab, .dynsym and the stubs of its PLT.
//
// A name covers its symbol's own range and nothing else:
//   - A symbol with a size covers that size, cut at the end of its section.
//   - A label without a size (hand-written assembly, crtstuff) counts only if it comes from .symtab
//   and
//     lies in no sized symbol. It covers up to the next symbol or the end of its section, at most 4
//     KiB.
//   - Where ranges overlap, the one that starts last covers the address.
//   - Of several names with one start: a size before none, a function's type before none, global
//   before
//     weak before local, fewer leading underscores, the shorter one, the earlier in the string
//     table.
//   - Compilers' .L labels and arm64's mapping symbols ($x, $d) are no names. A symbol version
//   (@@V) is
//     no part of a name. A stub of the PLT is named "NAME@plt".
//
// Input:   a foreign process's file, so nothing in it is trusted.
// Memory:  12 bytes a range; names stay in the file. Create() needs 20 bytes a symbol more for a
// moment. Threads: immutable after Create().
#ifndef STACKRAY_SYMBOLIZER_SYMBOL_TABLE_H_
#define STACKRAY_SYMBOLIZER_SYMBOL_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/symbol_scan.h"

namespace stackray {

inline constexpr size_t kDefaultMaxSymbols = 4 << 20;

class SymbolTable {
 public:
  // Keeps nothing of `image` or `source`. A file without names of code gives an empty table;
  // symbols over `max_symbols` are left out, in the file's order. Errors: Unimplemented (a
  // relocatable file, whose symbols have no addresses).
  static absl::StatusOr<SymbolTable> Create(const ElfImage& image, const ByteSource& source,
                                            size_t max_symbols = kDefaultMaxSymbols);

  // The range that covers the address, for NameOfRange() and as a key of its name; nullopt: none
  // does.
  std::optional<size_t> FindRange(uint64_t elf_address) const;
  // nullopt: the name cannot be read.
  std::optional<std::string> NameOfRange(const ByteSource& source, size_t range) const;

  // The name as the file has it, cut at 32 KiB; nullopt where no range covers the address or its
  // name cannot be read. `source` has the same content as at Create(); other content gives wrong
  // names or none, nothing worse.
  std::optional<std::string> FindName(const ByteSource& source, uint64_t elf_address) const;

  size_t range_count() const { return ranges_.size(); }
  size_t bytes() const { return sizeof(*this) + ranges_.capacity() * sizeof(Range); }

 private:
  struct Range {
    uint32_t start, size;  // From base_; ascending, disjoint.
    NameReference name;
  };
  static_assert(sizeof(Range) == 12);

  SymbolTable() = default;
  void Append(uint64_t start, uint64_t end, NameReference name);
  void Flatten(const std::vector<SymbolCandidate>& candidates);

  uint64_t base_ = 0;
  StringTables strings_;
  std::vector<Range> ranges_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_SYMBOL_TABLE_H_
