#include "agent/daemon/loss_batch.h"

#include <utility>
#include <vector>

#include "agent/sampling/markers.h"

namespace stackray {

SealedBatchPtr MakeLossBatch(const BatchSettings& settings, const LostSamples& lost,
                             int64_t now_unix_ns) {
  BatchBuilder batch(settings);
  for (size_t reason = 0; reason < lost.size(); ++reason) {
    if (lost[reason] == 0) continue;
    if (batch.NeedsProcess(ProcessId{})) batch.DefineProcess(ProcessId{}, {});
    const FrameKey key = FrameKey::Make(
        FrameType::kMarker, static_cast<uint64_t>(MarkerKind::kLost), kFirstDeliveryLoss + reason);
    const std::vector<int32_t> frames = {batch.DefineFrame(key, MarkerSymbols(key))};
    batch.AddSample({.process = {},
                     .frames = frames,
                     .time_unix_ns = now_unix_ns,
                     .count = static_cast<int64_t>(lost[reason])});
  }
  return std::move(batch).Seal(now_unix_ns, now_unix_ns);
}

}  // namespace stackray
