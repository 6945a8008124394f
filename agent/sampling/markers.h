// Frames that stand where frames are missing.
#ifndef STACKRAY_AGENT_SAMPLING_MARKERS_H_
#define STACKRAY_AGENT_SAMPLING_MARKERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/frame.h"

namespace stackray {

// FrameKey::owner() of markers; word0 is the detail.
enum class MarkerKind : uint64_t {
  kTruncated = 1,    // Detail: enum end_reason.
  kUnknownJit = 2,   // Executable memory of no file that nobody names.
  kLost = 3,         // Detail: enum SamplingLoss, or kFirstDeliveryLoss + enum LossReason.
  kKernelCut = 4,    // The kernel stack was longer than what is kept.
  kNoMapping = 5,    // An interrupted pc that lies in no mapping.
  kUnsupported = 6,  // Detail: Runtimes' number of a runtime whose frames cannot be read.
  kNativeStackApart =
      7,  // Between a runtime's frames and the native ones, where it is not known which belong together.
  kNoStack = 8,  // A sample without kernel frames of a task without a user stack.
};

// Losses before a batch exists. Delivery has reasons of its own (reporter/export/delivery_counts.h); their
// details follow from kFirstDeliveryLoss on.
enum class SamplingLoss : uint64_t {
  kRingFull = 0,
  kScratchBusy = 1,
  kDamagedRecord = 2,
  kNotStored = 3,  // By the local history, which alone has this marker.
};
inline constexpr uint64_t kFirstDeliveryLoss = 16;

// Why a user stack is not complete, as a marker at its root; nullopt when it is complete or there was
// none to begin with. `end` is an enum end_reason; profile/stack_end.h decides.
std::optional<FrameKey> MarkerForEnd(uint32_t end);

// The same as a word for metrics: "undefined_return_address", "missing_page".
std::string_view EndName(uint32_t end);

// True for the ends that count as complete.
bool IsCompleteEnd(uint32_t end);
// True where the sample has a user stack at all, and one that could be walked: not of a process outside the agent's pid namespace.
bool HasUserStack(uint32_t end);

// "[truncated: unknown file]", "[unknown jit]", "[lost: ring full]", "[outside this pid namespace]".
FrameSymbols MarkerSymbols(const FrameKey& marker);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_MARKERS_H_
