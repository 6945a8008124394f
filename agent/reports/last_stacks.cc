#include "agent/reports/last_stacks.h"

#include <algorithm>
#include <utility>

#include "reporter/formats/batch_walk.h"

namespace stackray {
namespace {

constexpr size_t kMostBatches = 16, kMostBytes = 1 << 20;

// The thread as the batch has it. nullopt: it has no sample of it.
std::optional<ProcessDump> FindIn(const SealedBatchPtr& batch, uint32_t pid, uint32_t tid) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch->bytes);
  if (!walk.ok()) return std::nullopt;
  std::optional<ProcessDump> found;
  WalkedResource resource;
  walk->Visit(
      [&](const WalkedResource& of) { resource = of; }, [](const WalkedProfile&) {},
      [&](const WalkedSample& sample) {
        if (resource.pid != pid || sample.tid != tid) return;
        found = ProcessDump{.pid = pid, .command = std::string(resource.command)};
        if (!sample.timestamps_unix_ns.empty())
          found->time_unix_ns = sample.timestamps_unix_ns.back();
        found->threads = {
            {.tid = tid, .name = std::string(sample.thread_name), .how = DumpedThread::How::kLast}};
        found->sampled = {batch};
      });
  return found;
}

}  // namespace

absl::Status LastStacks::Begin(SamplingSession& session) {
  if (session_ != nullptr) return absl::OkStatus();
  const absl::StatusOr<int> capture =
      session.StartCapture({.name = "last-stacks",
                            .targets = {{.kind = TargetKind::kWholeHost}},
                            .types = {},
                            .deadly_signals = true},
                           [this](const SealedBatchPtr& batch) { OnSealed(batch); });
  if (!capture.ok()) return capture.status();
  session_ = &session;
  capture_ = *capture;
  return absl::OkStatus();
}

void LastStacks::End() {
  if (session_ != nullptr) session_->EndCapture(capture_);
  session_ = nullptr;
}

void LastStacks::OnSealed(const SealedBatchPtr& batch) {
  batches_.push_back(batch);
  bytes_ += batch->bytes.size();
  while (batches_.size() > kMostBatches || (bytes_ > kMostBytes && batches_.size() > 1)) {
    bytes_ -= batches_.front()->bytes.size();
    batches_.pop_front();
  }
}

std::optional<ProcessDump> LastStacks::Of(uint32_t pid, uint32_t tid) {
  if (session_ != nullptr) session_->captures().Seal(capture_);
  for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch)
    if (std::optional<ProcessDump> found = FindIn(*batch, pid, tid)) return found;
  return std::nullopt;
}

}  // namespace stackray
