// The history in segment files. Contract: history.h.
#ifndef STACKRAY_AGENT_HISTORY_DISK_HISTORY_H_
#define STACKRAY_AGENT_HISTORY_DISK_HISTORY_H_

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/history/batches_in_memory.h"
#include "agent/history/history.h"
#include "agent/history/history_directory.h"
#include "agent/history/segment_file.h"

namespace stackray {

class DiskHistory final : public History {
 public:
  // Lists what `directory` holds; appends a warning for what is damaged or not ours. Files that are
  // no segments are left alone.
  DiskHistory(HistorySettings settings, HistoryDirectory directory,
              std::vector<std::string>& warnings);
  ~DiskHistory() override;

  absl::Status Append(const SealedBatchPtr& batch) override;
  std::string failing_with() const override;
  uint64_t Query(int64_t from_ms, int64_t to_ms,
                 const std::function<bool(std::string_view)>& visit) override;
  std::vector<HistoryRun> Runs(int64_t from_ms, int64_t to_ms) override;
  uint64_t Visit(const HistoryRun& run,
                 const std::function<bool(std::string_view)>& visit) override;
  absl::StatusOr<std::shared_ptr<const MappedFile>> Index(const HistoryRun& run) override;
  absl::Status KeepIndex(const HistoryRun& run, std::string_view bytes) override;
  absl::StatusOr<std::shared_ptr<const MappedFile>> GroupIndex(const std::string& group) override;
  absl::Status KeepGroupIndex(const std::string& group, std::string_view bytes) override;
  HistoryStatistics statistics() const override;

 private:
  using SegmentPtr = std::shared_ptr<SegmentFile>;
  enum class DropReason { kAge, kBytes };

  void OpenSegments(const std::vector<std::string>& names, std::vector<std::string>& warnings);
  void FindIndexes(const std::vector<std::string>& names);
  void FindGroups(const std::vector<std::string>& names);
  // By segment, the first one of its group; nullptr: that is not complete. Expects mutex_ to be
  // held.
  std::vector<SegmentPtr> Groups() const;
  SegmentPtr FindSegment(const std::string& name) const;  // Expects mutex_ to be held.
  // These expect mutex_ to be held.
  void Trim(uint64_t incoming_bytes);
  void DropOldest(DropReason reason);
  bool ActiveTakes(uint64_t frame_bytes) const;
  // The segment to write to, a new one where the last takes no more.
  absl::StatusOr<SegmentPtr> PrepareSegment(uint64_t frame_bytes, int64_t start_unix_ns);
  // Writes what waits in memory, until nothing does or the disk refuses. These expect append_mutex_
  // to be held.
  absl::Status WriteWaiting();
  absl::Status WriteOldest(const SealedBatch& batch);
  bool MakeRoom();

  const HistorySettings settings_;
  const AgeClock clock_;
  const uint64_t segment_bytes_;
  const int64_t segment_age_ms_;
  const uint64_t most_waiting_bytes_;
  const HistoryDirectory directory_;
  std::mutex append_mutex_;          // Held by Append() while it writes; taken before mutex_.
  mutable std::mutex mutex_;         // Guards all below, and the segments' lists.
  std::deque<SegmentPtr> segments_;  // Oldest first.
  bool active_ = false;              // The last segment takes more.
  uint64_t next_sequence_ = 1;
  uint64_t bytes_ = 0;       // Of all segments.
  BatchesInMemory waiting_;  // For the disk; newer than all segments.
  std::string failing_with_;
  HistoryStatistics counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_DISK_HISTORY_H_
