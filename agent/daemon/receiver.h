// The OTLP receiver of the agent: its queue, and what was lost on the way, for the next batch.
#ifndef STACKRAY_AGENT_DAEMON_RECEIVER_H_
#define STACKRAY_AGENT_DAEMON_RECEIVER_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "reporter/export/export_queue.h"

namespace stackray {

// Threads: Add(), Counts() and TakeLosses() from the agent's loop.
class Receiver {
 public:
  // Errors: InvalidArgument: what is wrong with the settings, and what to write instead.
  static absl::StatusOr<std::unique_ptr<Receiver>> Create(const AgentSettings& settings);

  void Add(SealedBatchPtr batch) { queue_->Add(std::move(batch)); }
  DeliveryCounts Counts() const { return queue_->Counts(); }
  // Calls `take(reason, samples)` for what was lost since the last time.
  void TakeLosses(const std::function<void(LossReason, uint64_t)>& take);
  // Delivers what it can within `limit`; the rest is lost and counted.
  void Finish(std::chrono::milliseconds limit);

 private:
  Receiver() = default;
  std::array<std::atomic<uint64_t>, kLossReasons> losses_{};
  std::unique_ptr<ExportQueue> queue_;  // Last: its thread uses losses_.
};

// What the settings say about the receiver, checked. Opens nothing but certificate files.
absl::StatusOr<ReceiverSettings> ReceiverSettingsOf(const AgentSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_RECEIVER_H_
