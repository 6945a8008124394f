// What can be sampled: one row a type, for those who make samples, those who write and those who
// read batches.
//
// An event is one thing that was observed: a tick, a part of a wait, a page fault. Samples, losses
// and deliveries are counted in events, whatever the values of a type are.
#ifndef STACKRAY_PROFILE_SAMPLE_TYPES_H_
#define STACKRAY_PROFILE_SAMPLE_TYPES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stackray {

// Where samples come from. The numbers are those of enum sample_origin in bpf/shared/records.h.
enum class SampleOrigin : uint8_t {
  kCpuClock = 0,
  kOffCpu = 1,
  kPageFaults = 2,
};
inline constexpr size_t kSampleOrigins = 3;

struct SampleType {
  SampleOrigin origin;
  std::string_view name;  // In settings and on the command line.
  // On the wire: of the profile's sample_type and period_type.
  std::string_view type, unit;
  std::string_view period_type, period_unit;  // Empty: the profile has no period.
  // An event has a value of its own, which is written beside its time. Otherwise it counts one.
  bool weighted;
};

// By origin. `off_cpu` and `nanoseconds` are the names that receivers look for.
inline constexpr std::array<SampleType, kSampleOrigins> kSampleTypes = {{
    {SampleOrigin::kCpuClock, "cpu", "samples", "count", "cpu", "nanoseconds", false},
    {SampleOrigin::kOffCpu, "off-cpu", "off_cpu", "nanoseconds", "", "", true},
    {SampleOrigin::kPageFaults, "page-faults", "page_faults", "count", "page_faults", "count",
     true},
}};

constexpr const SampleType& TypeOf(SampleOrigin origin) {
  return kSampleTypes[static_cast<size_t>(origin)];
}

constexpr bool HasType(std::span<const SampleOrigin> types, SampleOrigin origin) {
  return std::ranges::find(types, origin) != types.end();
}

// nullptr: not one of ours.
constexpr const SampleType* FindSampleType(std::string_view type, std::string_view unit) {
  for (const SampleType& row : kSampleTypes) {
    if (row.type == type && row.unit == unit) return &row;
  }
  return nullptr;
}
constexpr const SampleType* FindSampleTypeByName(std::string_view name) {
  for (const SampleType& row : kSampleTypes) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// What a thread waited for that was not running; a sample of kOffCpu says one.
enum class WaitKind : uint8_t {
  kNone = 0,
  kBlocked = 1,    // Nothing could run it before something happened: I/O, a lock, a timer.
  kRunQueue = 2,   // It could run and had no CPU yet.
  kPreempted = 3,  // It was running and lost its CPU to another one.
};

// As an attribute's value; kNone has none.
constexpr std::string_view WaitKindName(WaitKind kind) {
  switch (kind) {
    case WaitKind::kNone: return "";
    case WaitKind::kBlocked: return "blocked";
    case WaitKind::kRunQueue: return "run_queue";
    case WaitKind::kPreempted: return "preempted";
  }
  return "";
}

}  // namespace stackray

#endif  // STACKRAY_PROFILE_SAMPLE_TYPES_H_
