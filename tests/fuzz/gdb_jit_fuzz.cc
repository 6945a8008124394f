// libs: stackray_interpreters
// gdb's list of JIT code in memory that says anything, and an ELF file of it. The input is both
// that memory, from address 0 on, and the file.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "interpreters/jit/gdb_jit.h"
#include "tests/fuzz/input_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 64;
  const std::span<const uint8_t> bytes(data, size);
  if (size < 16) return 0;
  stackray::InputMemory memory(bytes, 65536);
  const absl::StatusOr<uint64_t> first = stackray::FirstGdbJitEntry(memory, data[0]);
  const stackray::GdbJitList list =
      stackray::ReadGdbJitList(memory, first.value_or(data[1]), kMost);
  if (list.entries.size() > kMost) std::abort();
  for (const stackray::GdbJitEntry& entry : list.entries)
    (void)stackray::FunctionsOfJitElf(stackray::ProcessBytes(memory, entry.elf, entry.size_bytes));
  const auto functions = stackray::FunctionsOfJitElf(stackray::MemorySource(bytes));
  if (functions.ok() && functions->size() > size / 24) std::abort();
  return 0;
}
