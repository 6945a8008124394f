// libs: stackray_interpreters
// Any bytes as the small functions by which runtimes answer their variables, of x86-64 and arm64:
// they are followed for a bounded number of instructions, and the same bytes say the same again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "interpreters/accessor.h"
#include "interpreters/arm64_trace.h"
#include "interpreters/ruby/accessors.h"

namespace {

constexpr uint64_t kAddress = 0x10000;
constexpr uint64_t kMostReads = 100'000;

bool AreSame(const stackray::Accessed& a, const stackray::Accessed& b) {
  return a.tls_kind == b.tls_kind && a.address == b.address && a.tls_offset == b.tls_offset &&
         a.inside == b.inside;
}

}  // namespace

// The input: where in the code the function begins, in words; code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::span<const uint8_t> code(data + 1, size - 1);
  const uint64_t function = kAddress + data[0] * uint64_t{4};
  uint64_t reads = 0;
  const stackray::ReadCodeAt read = [&](uint64_t address, uint64_t size_bytes) {
    if (++reads > kMostReads) std::abort();
    const uint64_t at = address - kAddress;
    if (address < kAddress || at >= code.size()) return std::vector<uint8_t>();
    const auto there = code.subspan(at, std::min<uint64_t>(size_bytes, code.size() - at));
    return std::vector<uint8_t>(there.begin(), there.end());
  };
  const stackray::Arm64Trace trace = stackray::TraceArm64(read, function);
  using Base = stackray::Arm64Value::Base;
  for (const stackray::Arm64Load& load : trace.loads)  // A load's address comes of loads before it.
    if (load.address.is(Base::kLoaded) && load.address.load >= trace.loads.size()) std::abort();
  if (trace.result.is(Base::kLoaded) && trace.result.load >= trace.loads.size()) std::abort();
  if (!AreSame(stackray::ReadArm64Accessor(read, function),
               stackray::ReadArm64Accessor(read, function)))
    std::abort();
  const std::span<const uint8_t> begin =
      code.first(std::min<size_t>(code.size(), stackray::kAccessorBytes));
  if (!AreSame(stackray::ReadAccessor(begin, kAddress), stackray::ReadAccessor(begin, kAddress)))
    std::abort();
  stackray::ReadContextAccess(code, kAddress);
  stackray::ReadCollectorAccess(code, kAddress);
  stackray::ReadSymbolsAccess(code, kAddress);
  stackray::ReadArm64ContextAccess(read, function);
  stackray::ReadArm64CollectorAccess(read, function);
  stackray::ReadArm64SymbolsAccess(read, function);
  return 0;
}
