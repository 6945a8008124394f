// A batch of nothing but markers: samples that one receiver has lost on the way, told to that
// receiver alone. What others lost is none of its business, and nobody else's batches grow by it.
#ifndef STACKRAY_AGENT_DAEMON_LOSS_BATCH_H_
#define STACKRAY_AGENT_DAEMON_LOSS_BATCH_H_

#include <array>
#include <cstdint>

#include "reporter/batch.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {

using LostSamples = std::array<uint64_t, kLossReasons>;  // By LossReason.

// One `[lost: REASON]` sample for each reason, of the host. nullptr: nothing was lost.
SealedBatchPtr MakeLossBatch(const BatchSettings& settings, const LostSamples& lost,
                             int64_t now_unix_ns);

// `[lost: not stored]`, for the local history alone.
SealedBatchPtr MakeNotStoredBatch(const BatchSettings& settings, uint64_t samples,
                                  int64_t now_unix_ns);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_LOSS_BATCH_H_
