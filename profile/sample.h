// One observation, ready to enter a batch.
#ifndef STACKRAY_PROFILE_SAMPLE_H_
#define STACKRAY_PROFILE_SAMPLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "profile/frame.h"
#include "profile/process.h"
#include "profile/sample_types.h"

namespace stackray {

// The span of a trace that the thread was working for.
struct SpanContext {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};

  friend bool operator==(const SpanContext&, const SpanContext&) = default;
};

// Key and value of an attribute that the program gave the sample. Any bytes.
using SampleLabel = std::pair<std::string_view, std::string_view>;

// `frames` are indices that BatchBuilder handed out for the open batch, leaf first.
struct SampleView {
  ProcessId process;
  SampleOrigin origin = SampleOrigin::kCpuClock;
  std::span<const int32_t> frames;  // Locations of the open batch.
  int64_t time_unix_ns = 0;
  int64_t count = 1;  // How many events this stands for; ≥ 1, and 1 where the type is weighted.
  int64_t value = 1;  // Of a weighted type: the event's value in the type's unit; ≥ 1.
  uint32_t tid = 0;   // 0: none.
  std::string_view thread_name;  // Any bytes; empty: none.
  int32_t cpu = -1;              // -1: not recorded.
  WaitKind wait = WaitKind::kNone;
  std::optional<SpanContext> span;
  std::span<const SampleLabel> labels;
};

}  // namespace stackray

#endif  // STACKRAY_PROFILE_SAMPLE_H_
