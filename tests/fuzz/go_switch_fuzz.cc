// libs: stackray_cfi
// Any bytes as one of the functions by which Go leaves a stack, of x86-64 and arm64: what overrides
// its depths lies within it.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "symbolizer/cfi/go_switch.h"

namespace {

constexpr uint64_t kAddress = 0x401000;
constexpr uint8_t kDepthUnit = 8;
constexpr std::string_view kNames[] = {"runtime.systemstack",
                                       "runtime.morestack",
                                       "runtime.cgocallback",
                                       "runtime.asmcgocall",
                                       "runtime.mcall",
                                       "runtime.clone",
                                       "runtime.gogo",
                                       "runtime.goexit",
                                       "runtime.asyncPreempt",
                                       "runtime.sigreturn",
                                       "runtime.rt0_go",
                                       "runtime.nanotime1",
                                       "racecall",
                                       "runtime.racecallbackthunk"};

void Check(const std::vector<stackray::cfi::GoOverride>& overrides, uint64_t size) {
  for (const stackray::cfi::GoOverride& override : overrides)
    if (override.begin > override.end || override.end > size) std::abort();
}

}  // namespace

// The input: which name; flags; how many depths; the depths, a pc and a count of words each; code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const uint8_t name = data[0], flags = data[1];
  const size_t depth_count = data[2];
  std::span<const uint8_t> rest(data + 3, size - 3);
  std::vector<stackray::cfi::GoDepth> depths;
  for (; depths.size() < depth_count && rest.size() >= 2; rest = rest.subspan(2))
    depths.push_back(
        {.pc = (depths.empty() ? 0 : depths.back().pc) + rest[0], .bytes = rest[1] * kDepthUnit});
  const stackray::cfi::GoFunctionText function = {.name = kNames[name % std::size(kNames)],
                                                  .address = kAddress,
                                                  .bytes = rest,
                                                  .depths = depths,
                                                  .writes_sp = (flags & 1) != 0,
                                                  .saves_rbp = (flags & 2) != 0,
                                                  .begins_program = (flags & 4) != 0,
                                                  .program_begins_in_go = (flags & 8) != 0};
  const stackray::cfi::GoRuntime known = {.curg_offset = 0xc0, .thread_place = 0xfff8};
  const std::optional<stackray::cfi::GoRuntime> read =
      (flags & 16) != 0 ? stackray::cfi::ReadGoRuntime(rest, kAddress)
                        : stackray::cfi::ReadArm64GoRuntime(rest);
  const stackray::cfi::GoRuntime* runtime = read ? &*read : (flags & 32) != 0 ? &known : nullptr;
  Check(stackray::cfi::FindGoOverrides(function, runtime, kAddress), rest.size());
  Check(stackray::cfi::FindArm64GoOverrides(function, runtime), rest.size());
  for (uint64_t at = 0; at <= rest.size() && at < 256; ++at) {
    stackray::cfi::BeginsArm64GoFrame(rest, at);
    stackray::cfi::StoresArm64GoFp(rest, at);
  }
  return 0;
}
