// The runs of a history in segment files, and the indexes that are kept beside whole ones.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/history/disk_history.h"
#include "agent/history/whole_file.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr char kWaiting[] = "waiting";  // No segment's name.

// A run of what `batches` yields: each a start and an end.
template <typename Batches>
HistoryRun RunOf(const std::string& segment, const Batches& batches, size_t first, size_t count) {
  HistoryRun run{.name = fmt::format("{}/{}+{}", segment, first, count),
                 .segment = segment,
                 .first = first,
                 .count = count};
  run.start_ms = INT64_MAX;
  for (size_t i = first; i < first + count; ++i) {
    run.start_ms = std::min(run.start_ms, batches[i].start_unix_ns / kNsPerMs);
    run.end_ms = std::max(run.end_ms, batches[i].end_unix_ns / kNsPerMs);
  }
  return run;
}

absl::Status WriteError(int error) {
  const std::string text = fmt::format("cannot keep an index: {}", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(text)
                                            : absl::UnavailableError(text);
}

struct WaitingTimes {
  int64_t start_unix_ns, end_unix_ns;
};

}  // namespace

DiskHistory::SegmentPtr DiskHistory::FindSegment(const std::string& name) const {
  const auto found = std::ranges::find_if(
      segments_, [&](const SegmentPtr& segment) { return segment->name() == name; });
  return found == segments_.end() ? nullptr : *found;
}

// Sequence numbers, which begin at 1, say where groups begin, so a restart finds the same ones.
std::vector<DiskHistory::SegmentPtr> DiskHistory::Groups() const {
  std::vector<SegmentPtr> firsts(segments_.size());
  const auto group_of = [&](size_t i) {
    return (SegmentFile::SequenceOf(segments_[i]->name()).value_or(1) - 1) / HistoryRun::kGroup;
  };
  for (size_t begin = 0; begin < segments_.size();) {
    size_t end = begin;
    while (end < segments_.size() && group_of(end) == group_of(begin)) ++end;
    const bool grows = active_ && end == segments_.size();
    if (end - begin == HistoryRun::kGroup && !grows)
      std::fill(firsts.begin() + static_cast<std::ptrdiff_t>(begin),
                firsts.begin() + static_cast<std::ptrdiff_t>(end), segments_[begin]);
    begin = end;
  }
  return firsts;
}

std::vector<HistoryRun> DiskHistory::Runs(int64_t from_ms, int64_t to_ms) {
  std::vector<HistoryRun> runs;
  std::vector<SealedBatchPtr> waiting;
  const auto add = [&](HistoryRun run) {
    if (run.start_ms < to_ms && run.end_ms >= from_ms) runs.push_back(std::move(run));
  };
  const std::lock_guard lock(mutex_);
  Trim(0);
  const std::vector<SegmentPtr> groups = Groups();
  for (size_t i = 0; i < segments_.size(); ++i) {
    const SegmentPtr& segment = segments_[i];
    const std::vector<StoredBatch>& batches = segment->batches();
    if (batches.empty()) continue;
    if (!active_ || segment != segments_.back()) {
      HistoryRun run = RunOf(segment->name(), batches, 0, batches.size());
      run.name = segment->name();
      run.whole = true;
      run.indexed = segment->index_bytes() > 0;
      if (groups[i] != nullptr) {
        run.group = groups[i]->name();
        run.group_indexed = groups[i]->group_bytes() > 0;
      }
      add(std::move(run));
      continue;
    }
    for (size_t first = 0; first < batches.size(); first += HistoryRun::kBatches)
      add(RunOf(segment->name(), batches, first,
                std::min(HistoryRun::kBatches, batches.size() - first)));
  }
  waiting_.Find(from_ms, to_ms, &waiting);
  for (const SealedBatchPtr& batch : waiting) {
    const std::vector<WaitingTimes> times = {
        {batch->start_unix_ns, batch->start_unix_ns + batch->duration_ns}};
    HistoryRun run = RunOf(kWaiting, times, 0, 1);
    run.name = fmt::format("{}/{}+{}", kWaiting, batch->start_unix_ns, batch->bytes.size());
    runs.push_back(std::move(run));
  }
  return runs;
}

uint64_t DiskHistory::Visit(const HistoryRun& run,
                            const std::function<bool(std::string_view)>& visit) {
  SegmentPtr segment;
  std::vector<StoredBatch> batches;
  std::vector<SealedBatchPtr> waiting;
  {
    const std::lock_guard lock(mutex_);
    segment = FindSegment(run.segment);
    if (segment == nullptr) waiting_.Find(run.start_ms, run.end_ms + 1, &waiting);
    if (segment != nullptr)
      for (size_t i = run.first; i < run.first + run.count && i < segment->batches().size(); ++i)
        batches.push_back(segment->batches()[i]);
  }
  uint64_t visited = 0, failed = 0;
  for (const StoredBatch& batch : batches) {
    const absl::StatusOr<std::string> bytes = segment->Read(batch);
    failed += bytes.ok() ? 0 : 1;
    if (!bytes.ok()) continue;
    ++visited;
    if (!visit(*bytes)) break;
  }
  for (const SealedBatchPtr& batch : waiting) {
    if (fmt::format("{}/{}+{}", kWaiting, batch->start_unix_ns, batch->bytes.size()) != run.name)
      continue;
    ++visited;
    visit(batch->bytes);
    break;
  }
  const std::lock_guard lock(mutex_);
  counts_.read_errors += failed;
  return visited;
}

absl::StatusOr<std::shared_ptr<const MappedFile>> DiskHistory::Index(const HistoryRun& run) {
  if (!run.whole) return absl::NotFoundError("the segment still grows");
  {
    const std::lock_guard lock(mutex_);
    const SegmentPtr segment = FindSegment(run.segment);
    if (segment == nullptr || segment->index_bytes() == 0) return absl::NotFoundError("no index");
  }
  return MappedFile::Open(directory_.directory.get(), SegmentFile::IndexNameOf(run.segment));
}

absl::StatusOr<std::shared_ptr<const MappedFile>> DiskHistory::GroupIndex(
    const std::string& group) {
  {
    const std::lock_guard lock(mutex_);
    const SegmentPtr first = FindSegment(group);
    if (first == nullptr || first->group_bytes() == 0) return absl::NotFoundError("no index");
  }
  return MappedFile::Open(directory_.directory.get(), SegmentFile::GroupNameOf(group));
}

absl::Status DiskHistory::KeepGroupIndex(const std::string& group, std::string_view bytes) {
  const std::string name = SegmentFile::GroupNameOf(group);
  if (const int error =
          WriteWholeFile(directory_.directory.get(), name, fmt::format("{}.part", name), bytes);
      error != 0)
    return WriteError(error);
  const std::lock_guard lock(mutex_);
  const SegmentPtr first = FindSegment(group);
  if (first == nullptr) {  // It was dropped meanwhile.
    unlinkat(directory_.directory.get(), name.c_str(), 0);
    return absl::NotFoundError("the segment is gone");
  }
  bytes_ += bytes.size() - first->group_bytes();
  first->SetGroupBytes(bytes.size());
  return absl::OkStatus();
}

absl::Status DiskHistory::KeepIndex(const HistoryRun& run, std::string_view bytes) {
  const std::string name = SegmentFile::IndexNameOf(run.segment);
  {
    const std::lock_guard lock(mutex_);
    if (!run.whole || FindSegment(run.segment) == nullptr)
      return absl::NotFoundError("the segment is gone, or still grows");
  }
  if (const int error =
          WriteWholeFile(directory_.directory.get(), name, fmt::format("{}.part", name), bytes);
      error != 0)
    return WriteError(error);
  const std::lock_guard lock(mutex_);
  const SegmentPtr segment = FindSegment(run.segment);
  if (segment == nullptr) {  // It was dropped meanwhile.
    unlinkat(directory_.directory.get(), name.c_str(), 0);
    return absl::NotFoundError("the segment is gone");
  }
  bytes_ += bytes.size() - segment->index_bytes();
  segment->SetIndexBytes(bytes.size());
  return absl::OkStatus();
}

}  // namespace stackray
