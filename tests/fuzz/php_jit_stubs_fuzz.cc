// libs: stackray_interpreters
// Any bytes as the memory of PHP's JIT: rows ascend within the page, functions lie within the
// bytes.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/shared/unwind_table.h"
#include "interpreters/php/jit_stubs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint16_t rule = static_cast<uint16_t>(data[0] | data[1] << 8);
  const std::span<const uint8_t> page(data + 2, size - 2);
  const stackray::JitStubs stubs = stackray::FindJitStubs(page, rule);
  if (stubs.rows.empty() || stubs.rows[0].offset != 0) std::abort();
  for (size_t i = 1; i < stubs.rows.size(); ++i)
    if (stubs.rows[i].offset <= stubs.rows[i - 1].offset || stubs.rows[i].offset >= PAGE_TEXT_BYTES)
      std::abort();
  for (const auto& [begin, end] : stubs.called)
    if (begin >= end || end > page.size() || end > PAGE_TEXT_BYTES) std::abort();
  return 0;
}
