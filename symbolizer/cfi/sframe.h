// Unwind rows from an SFrame section (.sframe), which newer assemblers write beside .eh_frame or in
// its place. Source: "The SFrame format", version 1 (binutils 2.40), version 2 with errata 1 and 2
// (2.41 to 2.45) and version 3 (2.46 and later; draft of October 2026): the documents that come
// with binutils.
//
// Of the two machines that are unwound, little endian, as ElfImage has them: a section of the other
// byte order or of another machine counts as absent. Whether a return address is signed, and with
// which key, is read over: the walk drops such bits from every address.
//
// Input:   a foreign file that may change while it is read. Nothing in it is trusted.
// Cost:    a page at most 2^20 rows and functions (about 10 ms at worst); a section that is not
//          sorted one pass more, at the first page.
// Memory:  33 KiB from the first page on; of a section that is not sorted 4 bytes a function more,
// at most 4 MiB. Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_SFRAME_H_
#define STACKRAY_SYMBOLIZER_CFI_SFRAME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/byte_windows.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"
#include "symbolizer/cfi/sframe_rows.h"
#include "symbolizer/elf_image.h"

namespace stackray::cfi {

class SframeTable {
 public:
  // nullptr: no such section, or one that is not understood. `source` outlives the result, `elf` is
  // not kept.
  static std::unique_ptr<SframeTable> Create(const ElfImage& elf, const ByteSource& source);

  // Part of a page that is one segment's.
  struct Piece {
    uint64_t begin = 0, end = 0;  // ELF addresses.
    uint32_t page_offset = 0;     // Of `begin`.
    // Of what is before the piece: its begin's.
    uint32_t OffsetOf(uint64_t address) const {
      return page_offset + static_cast<uint32_t>(address > begin ? address - begin : 0);
    }
  };
  // Puts the rows of the piece's functions into `rows`, which has none from there on. A function
  // whose rows are damaged has none, nor have those behind a damaged list. Errors: Unavailable,
  // OutOfRange (the file cannot be read any more).
  absl::Status AppendRows(const Piece& piece, RuleEncoder* encoder, PageRows* rows);

  size_t memory_bytes() const;

 private:
  SframeTable(const ByteSource& source, uint64_t file_offset, uint64_t size_bytes, uint64_t address,
              const SframeHeader& header);
  std::optional<SframeFunction> ReadFunction(uint64_t index);
  bool ReadAttributes(SframeFunction* function);
  std::optional<uint64_t> AddressOf(uint64_t position);
  std::optional<uint64_t> CountUpTo(uint64_t address);
  void SortFunctions();
  bool AppendFunction(const SframeFunction& function, const Piece& piece, RuleEncoder* encoder,
                      PageRows* rows);
  bool IsStubsEntry(const SframeRow& row) const;
  bool AppendBlock(const SframeFunction& function, uint64_t begin, uint64_t end, const Piece& piece,
                   RuleEncoder* encoder, PageRows* rows);

  const SframeHeader header_;
  const uint64_t address_;  // Of the section.
  ByteWindows functions_, rows_;
  std::optional<std::vector<uint32_t>> order_;  // Of a section that is not sorted.
  int64_t budget_ = 0;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_SFRAME_H_
