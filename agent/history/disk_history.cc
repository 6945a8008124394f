#include "agent/history/disk_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kMaxSegments = 256;  // Each holds a file descriptor.
constexpr int64_t kNsPerMs = 1'000'000;

uint64_t SegmentBytes(uint64_t max_bytes) {
  return std::clamp<uint64_t>(max_bytes / 32, 64 * 1024, 8 * 1024 * 1024);
}

bool Overlaps(const StoredBatch& batch, int64_t from_ms, int64_t to_ms) {
  return batch.start_unix_ns / kNsPerMs < to_ms && batch.end_unix_ns / kNsPerMs >= from_ms;
}

// Of a segment that an earlier process left: it was stored when its batches ended, or now, if that
// is to come.
void StampByItsTimes(SegmentFile& segment, int64_t now_ms) {
  int64_t last_ns = 0;
  for (const StoredBatch& batch : segment.batches()) last_ns = std::max(last_ns, batch.end_unix_ns);
  segment.Stamp(std::min(segment.batches().front().start_unix_ns / kNsPerMs, now_ms));
  segment.Stamp(std::min(last_ns / kNsPerMs, now_ms));
}

}  // namespace

DiskHistory::DiskHistory(HistorySettings settings, HistoryDirectory directory,
                         std::vector<std::string>& warnings)
    : settings_(std::move(settings)),
      clock_(settings_),
      segment_bytes_(SegmentBytes(settings_.max_bytes)),
      segment_age_ms_(std::max<int64_t>(settings_.max_age_ms / 24, 1)),
      most_waiting_bytes_(std::min(settings_.max_bytes, settings_.memory_bytes / 2)),
      directory_(std::move(directory)) {
  counts_.on_disk = true;
  OpenSegments(directory_.names, warnings);
  const std::lock_guard lock(mutex_);
  Trim(0);
}

DiskHistory::~DiskHistory() {
  {
    const std::lock_guard appending(append_mutex_);
    WriteWaiting().IgnoreError();
  }
  if (counts_.appended_batches > 0 && !segments_.empty()) segments_.back()->WaitForDisk();
}

void DiskHistory::OpenSegments(const std::vector<std::string>& names,
                               std::vector<std::string>& warnings) {
  for (const std::string& name : names) {  // In the order of their sequence numbers.
    if (!SegmentFile::NameOfIndex(name).empty() || !SegmentFile::NameOfGroup(name).empty())
      continue;
    if (name.ends_with(".index.part") || name.ends_with(".group.part")) {  // Its writer was ended.
      unlinkat(directory_.directory.get(), name.c_str(), 0);
      continue;
    }
    const std::optional<uint64_t> sequence = SegmentFile::SequenceOf(name);
    if (!sequence) {
      warnings.push_back(
          fmt::format("the history's directory holds a foreign file, left alone: {}", name));
      continue;
    }
    next_sequence_ = std::max(next_sequence_, *sequence + 1);
    absl::StatusOr<SegmentPtr> segment = SegmentFile::Open(directory_.directory.get(), name);
    if (!segment.ok()) {
      warnings.push_back(fmt::format("history: {}", std::string(segment.status().message())));
      continue;
    }
    if (const uint64_t damaged = (*segment)->damaged_bytes(); damaged > 0) {
      counts_.damaged_bytes += damaged;
      warnings.push_back(fmt::format("history: cut {} damaged bytes off {}", damaged, name));
    }
    if ((*segment)->batches().empty()) {
      unlinkat(directory_.directory.get(), name.c_str(), 0);
      continue;
    }
    StampByItsTimes(**segment, clock_.NowMs());
    bytes_ += (*segment)->size_bytes();
    segments_.push_back(*std::move(segment));
  }
  active_ = !segments_.empty();
  FindIndexes(names);
  FindGroups(names);
}

// An index whose segment is gone, or was not whole, goes too.
void DiskHistory::FindIndexes(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string segment_name = SegmentFile::NameOfIndex(name);
    if (segment_name.empty()) continue;
    const SegmentPtr segment = FindSegment(segment_name);
    struct stat facts;
    if (segment == nullptr || segment->damaged_bytes() > 0 ||
        fstatat(directory_.directory.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      unlinkat(directory_.directory.get(), name.c_str(), 0);
      continue;
    }
    segment->SetIndexBytes(static_cast<uint64_t>(facts.st_size));
    bytes_ += segment->index_bytes();
    // It was full when the index was made, so it stays as it is.
    if (segment == segments_.back()) active_ = false;
  }
}

// One whose segments are not all there as they were goes.
void DiskHistory::FindGroups(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  const std::vector<SegmentPtr> groups = Groups();
  for (const std::string& name : names) {
    const std::string first = SegmentFile::NameOfGroup(name);
    if (first.empty()) continue;
    size_t undamaged = 0;
    for (size_t i = 0; i < groups.size(); ++i)
      if (groups[i] != nullptr && groups[i]->name() == first)
        undamaged += segments_[i]->damaged_bytes() == 0 ? 1 : 0;
    struct stat facts;
    if (undamaged != HistoryRun::kGroup ||
        fstatat(directory_.directory.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      unlinkat(directory_.directory.get(), name.c_str(), 0);
      continue;
    }
    const SegmentPtr segment = FindSegment(first);
    segment->SetGroupBytes(static_cast<uint64_t>(facts.st_size));
    bytes_ += segment->group_bytes();
  }
}

void DiskHistory::Trim(uint64_t incoming_bytes) {
  const int64_t oldest_ms = clock_.NowMs() - settings_.max_age_ms;
  while (!segments_.empty() && segments_.front()->last_stamp_ms() < oldest_ms)
    DropOldest(DropReason::kAge);
  while (!segments_.empty() &&
         (bytes_ + incoming_bytes > settings_.max_bytes || segments_.size() > kMaxSegments))
    DropOldest(DropReason::kBytes);
  waiting_.Trim(oldest_ms, UINT64_MAX, &counts_);
}

void DiskHistory::DropOldest(DropReason reason) {
  const SegmentPtr oldest = std::move(segments_.front());
  segments_.pop_front();
  if (segments_.empty()) active_ = false;
  // A file that cannot be removed is listed again at the next start.
  unlinkat(directory_.directory.get(), oldest->name().c_str(), 0);
  if (oldest->index_bytes() > 0)
    unlinkat(directory_.directory.get(), SegmentFile::IndexNameOf(oldest->name()).c_str(), 0);
  if (oldest->group_bytes() > 0)
    unlinkat(directory_.directory.get(), SegmentFile::GroupNameOf(oldest->name()).c_str(), 0);
  bytes_ -= oldest->size_bytes() + oldest->index_bytes() + oldest->group_bytes();
  (reason == DropReason::kAge ? counts_.expired_batches : counts_.evicted_batches) +=
      oldest->batches().size();
}

bool DiskHistory::ActiveTakes(uint64_t frame_bytes) const {
  if (!active_) return false;
  const SegmentFile& last = *segments_.back();
  if (last.batches().empty()) return true;
  const int64_t age_ms = clock_.NowMs() - last.first_stamp_ms();
  return last.size_bytes() + frame_bytes <= segment_bytes_ && age_ms < segment_age_ms_;
}

absl::StatusOr<DiskHistory::SegmentPtr> DiskHistory::PrepareSegment(uint64_t frame_bytes,
                                                                    int64_t start_unix_ns) {
  Trim(frame_bytes);
  if (ActiveTakes(frame_bytes)) return segments_.back();
  if (active_) segments_.back()->StartWriteOut();
  const int64_t first_ms = std::max<int64_t>(start_unix_ns / kNsPerMs, 0);
  absl::StatusOr<SegmentPtr> segment = SegmentFile::Create(
      directory_.directory.get(), SegmentFile::NameOf(next_sequence_++, first_ms));
  active_ = segment.ok();
  if (segment.ok()) {
    (*segment)->Stamp(clock_.NowMs());
    segments_.push_back(*segment);
  }
  return segment;
}

absl::Status DiskHistory::WriteOldest(const SealedBatch& batch) {
  const uint64_t frame_bytes = SegmentFile::kLengthBytes + batch.bytes.size();
  absl::StatusOr<SegmentPtr> segment;
  {
    const std::lock_guard lock(mutex_);
    segment = PrepareSegment(frame_bytes, batch.start_unix_ns);
  }
  if (!segment.ok()) return segment.status();
  const absl::StatusOr<StoredBatch> stored =
      (*segment)->Write(batch.bytes, batch.start_unix_ns, batch.duration_ns);
  const std::lock_guard lock(mutex_);
  if (!stored.ok()) {
    active_ = false;  // The next one tries a file of its own.
    if ((*segment)->batches().empty()) {
      unlinkat(directory_.directory.get(), (*segment)->name().c_str(), 0);
      std::erase(segments_, *segment);
    }
    return stored.status();
  }
  // In one step, so that a query sees it exactly once; a query may have dropped it for its age
  // meanwhile.
  if (waiting_.empty() || waiting_.oldest().get() != &batch) return absl::OkStatus();
  (*segment)->AddToList(*stored);
  (*segment)->Stamp(waiting_.oldest_time_ms());
  waiting_.DropOldest();
  const bool still_kept = std::ranges::find(segments_, *segment) != segments_.end();
  if (still_kept) bytes_ += frame_bytes;
  return absl::OkStatus();
}

// Newer is worth more than older, once memory is half full of newer ones.
bool DiskHistory::MakeRoom() {
  const std::lock_guard lock(mutex_);
  if (segments_.empty() || waiting_.bytes() <= most_waiting_bytes_ / 2) return false;
  DropOldest(DropReason::kBytes);
  return true;
}

absl::Status DiskHistory::WriteWaiting() {
  bool made_room = false;
  while (true) {
    SealedBatchPtr next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return absl::OkStatus();
      next = waiting_.oldest();
    }
    const absl::Status status = WriteOldest(*next);
    if (status.ok()) continue;
    if (!absl::IsResourceExhausted(status) || made_room || !MakeRoom()) return status;
    made_room = true;
  }
}

absl::Status DiskHistory::Append(const SealedBatchPtr& batch) {
  const std::lock_guard appending(append_mutex_);
  const bool fits = SegmentFile::kLengthBytes + batch->bytes.size() <= settings_.max_bytes &&
                    batch->bytes.size() <= SegmentFile::kMaxBatchBytes;
  {
    const std::lock_guard lock(mutex_);
    counts_.appended_batches += fits ? 1 : 0;
    (fits ? counts_.appended_samples : counts_.failed_samples) += batch->samples;
    (fits ? counts_.appended_markers : counts_.failed_markers) += batch->lost_samples;
    counts_.failed_batches += fits ? 0 : 1;
    if (fits) waiting_.Add(batch, clock_.NowMs());
  }
  if (!fits) return absl::ResourceExhaustedError("the batch is larger than the whole history");
  const absl::Status status = WriteWaiting();
  const std::lock_guard lock(mutex_);
  failing_with_ = std::string(status.message());
  waiting_.Trim(clock_.NowMs() - settings_.max_age_ms,
                std::max<uint64_t>(most_waiting_bytes_, batch->bytes.size()), &counts_);
  return absl::OkStatus();
}

std::string DiskHistory::failing_with() const {
  const std::lock_guard lock(mutex_);
  return failing_with_;
}

uint64_t DiskHistory::Query(int64_t from_ms, int64_t to_ms,
                            const std::function<bool(std::string_view)>& visit) {
  std::vector<std::pair<SegmentPtr, StoredBatch>> wanted;
  std::vector<SealedBatchPtr> waiting;
  {
    const std::lock_guard lock(mutex_);
    Trim(0);
    for (const SegmentPtr& segment : segments_)
      for (const StoredBatch& batch : segment->batches())
        if (Overlaps(batch, from_ms, to_ms)) wanted.emplace_back(segment, batch);
    waiting_.Find(from_ms, to_ms, &waiting);
  }
  uint64_t visited = 0, failed = 0;
  bool goes_on = true;
  for (size_t i = 0; goes_on && i < wanted.size(); ++i) {
    const absl::StatusOr<std::string> bytes = wanted[i].first->Read(wanted[i].second);
    failed += bytes.ok() ? 0 : 1;
    if (!bytes.ok()) continue;
    ++visited;
    goes_on = visit(*bytes);
  }
  for (size_t i = 0; goes_on && i < waiting.size(); ++i) {
    ++visited;
    goes_on = visit(waiting[i]->bytes);
  }
  const std::lock_guard lock(mutex_);
  counts_.read_errors += failed;
  return visited;
}

HistoryStatistics DiskHistory::statistics() const {
  const std::lock_guard lock(mutex_);
  HistoryStatistics now = counts_;
  now.bytes = bytes_;
  now.segments = segments_.size();
  for (const SegmentPtr& segment : segments_) {
    for (const StoredBatch& batch : segment->batches()) {
      const int64_t start_ms = batch.start_unix_ns / kNsPerMs;
      now.oldest_ms = now.batches == 0 ? start_ms : std::min(now.oldest_ms, start_ms);
      now.newest_ms = batch.end_unix_ns / kNsPerMs;
      now.batches += 1;
    }
  }
  waiting_.AddTo(&now);
  return now;
}

}  // namespace stackray
