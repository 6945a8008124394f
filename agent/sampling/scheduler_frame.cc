#include "agent/sampling/scheduler_frame.h"

#include <algorithm>
#include <string_view>

namespace stackray {
namespace {

// Where the tracepoint of a switch lies (kernel/sched/core.c, 5.10 to 6.18), and how many frames
// may be of the tracepoint.
constexpr std::string_view kSchedulerFunction = "__schedule";
constexpr size_t kMostTracingFrames = 8;

}  // namespace

std::span<const uint64_t> SchedulerFrame::From(std::span<const uint64_t> addresses,
                                               std::optional<KernelSymbols>& kernel) {
  const size_t looked_at = std::min(addresses.size(), kMostTracingFrames);
  for (size_t i = 0; i < looked_at; ++i)
    if (addresses[i] == return_address_) return addresses.subspan(i);
  for (size_t i = 0; kernel && i < looked_at; ++i) {
    if (kernel->NameOf(addresses[i]) != kSchedulerFunction) continue;
    return_address_ = addresses[i];
    return addresses.subspan(i);
  }
  return addresses;
}

}  // namespace stackray
