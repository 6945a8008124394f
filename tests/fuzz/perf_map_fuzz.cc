// libs: stackray_interpreters
// A perf map that says anything, in two pieces.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "interpreters/jit/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLimit = 64 << 10;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  stackray::JitCode code(kLimit);
  stackray::PerfMapReader reader;
  const size_t first = size == 0 ? 0 : data[0] % size;
  reader.Take(text.substr(0, first), code);
  reader.Take(text.substr(first), code);
  if (code.bytes() > kLimit || code.size() > reader.functions()) std::abort();
  if (reader.functions() + reader.damaged() > size) std::abort();
  const auto* const found = code.Find(0x1000);
  if (found != nullptr && !found->Contains(0x1000)) std::abort();
  return 0;
}
