// libs: stackray_interpreters
// A jitdump that says anything, read before and after it has grown.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "interpreters/jit/jit_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLimit = 64 << 10;
  const std::span<const uint8_t> bytes(data, size);
  stackray::JitCode code(kLimit);
  stackray::JitDumpReader reader;
  stackray::cfi::JitRows rows(kLimit);
  (void)reader.ReadOn(stackray::MemorySource(bytes.first(size / 2)), code, rows);
  const absl::Status status = reader.ReadOn(stackray::MemorySource(bytes), code, rows);
  for (const uint64_t page : rows.TakeChanged()) (void)rows.EncodePage(page);
  if (code.bytes() > kLimit || rows.bytes() > kLimit ||
      reader.functions() + reader.damaged() > size)
    std::abort();
  // The first record may lie behind the end, and no record does.
  constexpr size_t kMostHeaderBytes = 4096;
  if (status.ok() && reader.offset() > std::max(size, kMostHeaderBytes)) std::abort();
  if (const auto* const found = code.Find(0x1000); found != nullptr) (void)found->LineAt(0x1000);
  return 0;
}
