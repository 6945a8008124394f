// Tables of a switch's cases that lie among the code of GraalVM's native-image: offsets of four
// bytes from the table's begin (`lea table(%rip)`, `movslq`, `add`, an indirect jump), in older
// releases behind a key of four bytes each (`sar $32` instead of `movslq`). Read as code they would
// say anything. Source: what native-image of GraalVM 21.0 and of JDK 25.0.2 made.
// Input: code of a foreign file; any bytes at all are answered.
// Cost:  one look at every byte; at most kMostCases entries a table.
#ifndef STACKRAY_SYMBOLIZER_CFI_SWITCH_TABLES_H_
#define STACKRAY_SYMBOLIZER_CFI_SWITCH_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stackray::cfi {

struct SwitchTable {
  static constexpr size_t kMostCases = 4096;
  size_t jump = 0;              // Where the indirect jump is in the code.
  size_t begin = 0, end = 0;    // Of the table in the code.
  std::vector<uint32_t> cases;  // Where the cases begin in the code.
};

// Ascending by `jump`. Their ranges lie within the code.
std::vector<SwitchTable> FindSwitchTables(std::span<const uint8_t> code);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_SWITCH_TABLES_H_
