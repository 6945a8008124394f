// libs: stackray_cfi
// Any bytes as code: rows ascend, lie within the code, and name frames that an unwinder can use.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "symbolizer/cfi/instruction_look.h"

using stackray::cfi::LookedFrame;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> code(data, size < 8192 ? size : 8192);
  constexpr uint64_t kAddress = 0x400000;
  uint64_t last = 0;
  for (const stackray::cfi::LookedRow& row : stackray::cfi::LookAtInstructions(code, kAddress)) {
    if (row.address <= last || row.address - kAddress >= code.size()) std::abort();
    last = row.address;
    const bool by_rsp = row.frame.kind == LookedFrame::Kind::kRsp;
    if (by_rsp && row.frame.cfa_offset < (row.frame.exact ? 0 : 8)) std::abort();
  }
  stackray::cfi::IsPadding(code);
  return 0;
}
