// Frames that stand where frames are missing.
#ifndef STACKRAY_AGENT_SAMPLING_MARKERS_H_
#define STACKRAY_AGENT_SAMPLING_MARKERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/frame.h"

namespace stackray {

// A marker's FrameKey: owner() is its MarkerKind, word0 the detail.
//   kLost         enum SamplingLoss, or kFirstDeliveryLoss + enum LossReason
//   kTruncated    enum end_reason
//   kUnsupported  Runtimes' number of a runtime; 0: not known which
constexpr FrameKey MarkerKey(MarkerKind kind, uint64_t detail = 0) {
  return FrameKey::Make(FrameType::kMarker, static_cast<uint64_t>(kind), detail);
}

// Losses before a batch exists. Delivery has reasons of its own
// (reporter/export/delivery_counts.h); their details follow from kFirstDeliveryLoss on.
enum class SamplingLoss : uint64_t {
  kRingFull = 0,
  kScratchBusy = 1,
  kDamagedRecord = 2,
  kNotStored = 3,      // By the local history, which alone has this marker.
  kTooManyWaits = 4,   // Of those that are open at once.
  kCaptureBudget = 5,  // Of the captures beside the continuous profile (capture-max-rate).
};
inline constexpr uint64_t kFirstDeliveryLoss = 16;

// Why a user stack is not complete, as a marker at its root; nullopt when it is complete or there
// was none to begin with. `end` is an enum end_reason; profile/stack_end.h decides.
std::optional<FrameKey> MarkerForEnd(uint32_t end);

// The end as a word for metrics: "undefined_return_address", "missing_page".
std::string_view EndName(uint32_t end);

// True for the ends that count as complete.
bool IsCompleteEnd(uint32_t end);
// True where the sample has a user stack at all, and one that could be walked: not of a process
// outside the agent's pid namespace.
bool HasUserStack(uint32_t end);

// Why a stack was truncated, as a marker's reason: "file not loaded". `end` is an enum end_reason.
std::string_view TruncationReason(uint64_t end);

// "[truncated: file not loaded]", "[unknown jit]", "[lost: ring full]", "[outside this pid
// namespace]".
FrameSymbols MarkerSymbols(const FrameKey& marker);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_MARKERS_H_
