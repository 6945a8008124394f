#include "agent/daemon/loss_batch.h"

#include <utility>
#include <vector>

#include "agent/sampling/markers.h"

namespace stackray {
namespace {

void AddMarker(uint64_t loss, uint64_t samples, int64_t now_unix_ns, BatchBuilder* batch) {
  if (samples == 0) return;
  if (batch->NeedsProcess(ProcessId{})) batch->DefineProcess(ProcessId{}, {});
  const FrameKey key = MarkerKey(MarkerKind::kLost, loss);
  const std::vector<int32_t> frames = {batch->DefineFrame(key, MarkerSymbols(key))};
  batch->AddSample({.process = {},
                    .frames = frames,
                    .time_unix_ns = now_unix_ns,
                    .count = static_cast<int64_t>(samples)});
}

}  // namespace

SealedBatchPtr MakeLossBatch(const BatchSettings& settings, const LostSamples& lost,
                             int64_t now_unix_ns) {
  BatchBuilder batch(settings);
  for (size_t reason = 0; reason < lost.size(); ++reason)
    AddMarker(kFirstDeliveryLoss + reason, lost[reason], now_unix_ns, &batch);
  return std::move(batch).Seal(now_unix_ns, now_unix_ns);
}

SealedBatchPtr MakeNotStoredBatch(const BatchSettings& settings, uint64_t samples,
                                  int64_t now_unix_ns) {
  BatchBuilder batch(settings);
  AddMarker(static_cast<uint64_t>(SamplingLoss::kNotStored), samples, now_unix_ns, &batch);
  return std::move(batch).Seal(now_unix_ns, now_unix_ns);
}

}  // namespace stackray
