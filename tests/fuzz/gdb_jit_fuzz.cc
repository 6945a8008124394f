// libs: stackray_interpreters
// gdb's list of JIT code in memory that says anything, and an ELF file of it. The input is both
// that memory, from address 0 on, and the file.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "interpreters/jit/gdb_jit_rows.h"
#include "symbolizer/cfi/jit_rows.h"
#include "tests/fuzz/input_memory.h"

// The rows that the file brings, put where they say they are.
static void TakeRows(stackray::InputMemory& memory, const stackray::GdbJitEntry& entry) {
  constexpr size_t kLimit = 64 << 10;
  stackray::cfi::JitRows rows(kLimit);
  auto found = stackray::RowsOfJitElf(memory, entry);
  if (!found.ok()) return;
  for (stackray::cfi::CodeRows& one : found->rows)
    rows.Put(std::move(one), stackray::cfi::JitRows::From::kList);
  if (rows.bytes() > kLimit) std::abort();
  (void)rows.EncodeLarge();
  for (const uint64_t page : rows.TakeChanged()) (void)rows.EncodePage(page);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 64;
  const std::span<const uint8_t> bytes(data, size);
  if (size < 16) return 0;
  stackray::InputMemory memory(bytes, 65536);
  const auto words = stackray::ReadGdbJitWords(memory, data[0]);
  const stackray::GdbJitList list =
      stackray::ReadGdbJitList(memory, words.ok() ? (*words)[JIT_FIRST_ENTRY] : data[1], kMost);
  if (list.entries.size() > kMost) std::abort();
  for (const stackray::GdbJitEntry& entry : list.entries)
    (void)stackray::FunctionsOfJitElf(stackray::ProcessBytes(memory, entry.elf, entry.size_bytes));
  TakeRows(memory, {.entry = 0, .elf = 0, .size_bytes = size});
  const auto functions = stackray::FunctionsOfJitElf(stackray::MemorySource(bytes));
  if (functions.ok() && functions->size() > size / 24) std::abort();
  return 0;
}
