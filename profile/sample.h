// One observation, ready to enter a batch.
#ifndef STACKRAY_PROFILE_SAMPLE_H_
#define STACKRAY_PROFILE_SAMPLE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "profile/frame.h"
#include "profile/process.h"

namespace stackray {

// Where samples come from; each origin is one OTLP Profile (sample type and period) of a resource.
enum class SampleOrigin : uint8_t {
  kCpuClock = 0,  // samples/count, period cpu/nanoseconds = 1e9 / Hz.
};

// `frames` are indices that BatchBuilder handed out for the open batch, leaf first.
struct SampleView {
  ProcessId process;
  SampleOrigin origin = SampleOrigin::kCpuClock;
  std::span<const int32_t> frames;  // Locations of the open batch.
  int64_t time_unix_ns = 0;
  int64_t count = 1;             // How many samples this stands for; ≥ 1.
  uint32_t tid = 0;              // 0: none.
  std::string_view thread_name;  // Any bytes; empty: none.
  int32_t cpu = -1;              // -1: not recorded.
};

}  // namespace stackray

#endif  // STACKRAY_PROFILE_SAMPLE_H_
