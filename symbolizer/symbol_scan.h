// First half of a SymbolTable: which entries of an ELF's symbol sections are names of code.
// Input:   a foreign process's file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_SYMBOL_SCAN_H_
#define STACKRAY_SYMBOLIZER_SYMBOL_SCAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// Where a name is: a byte offset into one of two string tables, and how to print it.
using NameReference = uint32_t;
inline constexpr NameReference kDynamicName = 1u << 31;  // In .dynstr, else in .symtab's table.
inline constexpr NameReference kPltName = 1u << 30;      // "NAME@plt".
inline constexpr NameReference kNameOffsetMask = kPltName - 1;

inline constexpr size_t kMaxSymbolNameBytes = 32 << 10;  // Longer names are cut here.

// One name's claim to a range of addresses.
struct SymbolCandidate {
  uint32_t start = 0;  // From ScannedSymbols::base.
  uint32_t size = 0;   // Of an unsized label: how far it may reach at most.
  NameReference name = 0;
  uint32_t preference = 0;  // Lower is better at the same start; kUnsizedLabel marks labels.
};
inline constexpr uint32_t kUnsizedLabel = 1u << 31;

struct StringTablePlace {
  uint64_t file_offset = 0, size_bytes = 0;
};
// Index 0: the table of .symtab; 1: of .dynsym.
using StringTables = std::array<StringTablePlace, 2>;

struct ScannedSymbols {
  uint64_t base = 0;  // Lowest address of an executable section; without sections, of a segment.
  StringTables strings;
  std::vector<SymbolCandidate> candidates;  // In no order.
};

// Where no section header leads to symbols, those of the dynamic loader count (dynamic_symbols.h).
// Memory: 16 bytes a candidate, at most `max_symbols` of them; what is over is left out.
// Errors: Unavailable (I/O error). Symbols outside of the file are left out.
absl::StatusOr<ScannedSymbols> ScanSymbols(const ElfImage& image, const ByteSource& source,
                                           size_t max_symbols);

// A window that makes reading many names in ascending order one pass over the file.
class NameReader {
 public:
  // Names are cut at `max_name_bytes`.
  NameReader(const ByteSource& source, const StringTables& strings, uint64_t window_bytes,
             uint64_t max_name_bytes)
      : source_(source),
        strings_(strings),
        window_bytes_(window_bytes),
        max_name_bytes_(max_name_bytes) {}
  // The name without symbol version and without "@plt"; valid until the next call. "" when it lies
  // outside of its table or cannot be read.
  std::string_view Read(NameReference name);

 private:
  bool Fill(uint64_t offset, uint64_t size_bytes);
  const ByteSource& source_;
  const StringTables strings_;
  const uint64_t window_bytes_, max_name_bytes_;
  uint64_t window_offset_ = 0;
  std::vector<uint8_t> window_;
};

// One name, complete as it is shown.
std::string ReadSymbolName(const ByteSource& source, const StringTables& strings,
                           NameReference name);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_SYMBOL_SCAN_H_
