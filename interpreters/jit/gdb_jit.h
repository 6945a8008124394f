// gdb's list of JIT code: `__jit_debug_descriptor` of the GDB manual ("JIT Compilation Interface"),
// a list of ELF files in the process's own memory.
//
// Layout, version 1: u32 version, u32 action, pointers to the entry at hand and to the first one.
// An entry: pointers to the next and to the one before, to the ELF file, and its size as u64. New
// ones are put in front. A reader has no lock: each entry must name the one before it, or else the
// list is changing and ends here for now.
//
// Input:   another process's memory; nothing in it is trusted.
// Memory:  of one ELF file kMaxSymbolBytes of symbols and their names at a time.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_JIT_GDB_JIT_H_
#define STACKRAY_INTERPRETERS_JIT_GDB_JIT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/jit_rows.h"
#include "interpreters/jit/jit_code.h"
#include "interpreters/process_memory.h"
#include "symbolizer/byte_source.h"

namespace stackray {

struct GdbJitEntry {
  uint64_t entry = 0, elf = 0, size_bytes = 0;  // Addresses of the entry and of its ELF file.
  friend bool operator==(const GdbJitEntry&, const GdbJitEntry&) = default;
};

struct GdbJitList {
  std::vector<GdbJitEntry> entries;  // The newest first.
  bool is_whole = false;             // It was read to its end.
};

// What the list says of itself now: the descriptor's words and two of its first entry, as
// bpf/shared/jit_rows.h has them; [JIT_FIRST_ENTRY] is 0 where the list is empty. Whatever the
// process adds or takes away changes one of them, unless it is at the same place and of one size.
// Errors: Unavailable (cannot be read), Unimplemented (another version).
using GdbJitWords = std::array<uint64_t, JIT_LIST_WORDS>;
absl::StatusOr<GdbJitWords> ReadGdbJitWords(ProcessMemory& memory, uint64_t descriptor);

// At most `most` entries from `first` on.
GdbJitList ReadGdbJitList(ProcessMemory& memory, uint64_t first, size_t most);

// The memory of a process as the bytes of a file. `memory` outlives this.
class ProcessBytes : public ByteSource {
 public:
  ProcessBytes(ProcessMemory& memory, uint64_t address, uint64_t size_bytes)
      : memory_(memory), address_(address), size_bytes_(size_bytes) {}
  uint64_t size_bytes() const override { return size_bytes_; }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override;

 private:
  ProcessMemory& memory_;
  const uint64_t address_, size_bytes_;
};

inline constexpr uint64_t kMaxSymbolBytes = 4 << 20;
inline constexpr size_t kMaxFunctionsOfElf = 65'536;

// The functions that an ELF file of the list names, at their addresses in the process. Sections
// have these; a symbol's value is one too, or a distance from its section's begin.
// Errors: as ElfImage::Create(); DataLoss (no symbols that make sense).
absl::StatusOr<std::vector<JitFunction>> FunctionsOfJitElf(const ByteSource& elf);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_GDB_JIT_H_
