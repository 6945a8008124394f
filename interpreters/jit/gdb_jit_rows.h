// The unwind rows of an ELF file of gdb's list (interpreters/jit/gdb_jit.h).
//
// Compilers register the file before or after its relocation, and nobody says which. So the entries
// are looked for in the process's memory where the section says it is, in the file at that address,
// where they lie behind the code, and where the file itself is; those count that describe the
// file's own code.
//
// Input:   another process's memory; nothing in it is trusted.
// Memory:  kMaxEntryBytes of one section at a time, and the rows.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_JIT_GDB_JIT_ROWS_H_
#define STACKRAY_INTERPRETERS_JIT_GDB_JIT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/jit/gdb_jit.h"
#include "interpreters/process_memory.h"
#include "symbolizer/cfi/code_rows.h"

namespace stackray {

inline constexpr uint64_t kMaxEntryBytes = 1 << 20;

struct JitElfRows {
  std::vector<cfi::AddressRange> code;  // Of the file: there is nothing else there now.
  std::vector<cfi::CodeRows> rows;
};

// Errors: as ElfImage::Create(); Unimplemented (another machine's).
absl::StatusOr<JitElfRows> RowsOfJitElf(ProcessMemory& memory, const GdbJitEntry& entry);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_GDB_JIT_ROWS_H_
