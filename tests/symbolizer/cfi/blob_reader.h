// A slow and plain reader of page blobs, for tests: it shares no code with the encoder or the
// unwinder.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_BLOB_READER_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_BLOB_READER_H_

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace stackray {

struct DecodedPage {
  std::string error;                 // Why the blob breaks its contract; empty: it does not.
  std::vector<u16> code_at;          // One a text byte of the page.
  std::vector<uint32_t> row_starts;  // Offsets at which a row is stored.
  std::vector<unwind_rule> rules;
};
// `machine`: EM_X86_64 or EM_AARCH64, whose codes differ.
DecodedPage DecodePage(std::span<const uint8_t> blob, uint16_t machine = EM_X86_64);

// The code at one byte, found by going through the rows from the first.
u16 FindCodeLinearly(std::span<const uint8_t> blob, uint32_t offset_in_page);

// What a code says, in the words of `readelf --debug-dump=frames-interp`: "rsp+16", "c-8", "u",
// "exp", "rdx". On arm64 `rbp` is x29's cell, and a return address in x30 is "u". `special` is
// NONE, END, PLT, SIGNAL or UNSUPPORTED, and then the others are empty.
struct CodeText {
  std::string special, cfa, rbp, ra, rbx;
  // CFA, rbp and return address as expressions in the words of llvm-dwarfdump.
  std::string cfa_exact, rbp_exact, ra_exact;
  bool guessed = false;  // From instructions.
};
CodeText DescribeCode(u16 code, const std::vector<unwind_rule>& rules,
                      uint16_t machine = EM_X86_64);

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_BLOB_READER_H_
