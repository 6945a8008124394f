#include "agent/captures/capture_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/captures/record_file.h"

namespace stackray {
namespace {

constexpr int64_t kWriteEveryMs = 1000;

absl::Status NotRunning(const std::string& name) {
  return absl::NotFoundError(fmt::format("no capture {} runs", name));
}

bool IsThere(int directory, const std::string& name) {
  struct stat facts;
  return fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string RecordName(const std::string& name) { return fmt::format("{}{}", name, kRecordEnding); }
std::string BatchesName(const std::string& name) {
  return fmt::format("{}{}", name, kBatchesEnding);
}

}  // namespace

std::string CaptureStore::FileOf(const std::string& state_dir, const std::string& name) {
  return fmt::format("{}/{}/{}", state_dir, kCaptureFolder, BatchesName(name));
}

bool CaptureStore::IsTaken(const std::string& name) const {
  return captures_.contains(name) || IsThere(fd(), RecordName(name)) ||
         IsThere(fd(), BatchesName(name));
}

std::string CaptureStore::FreeName(const std::string& name) const {
  constexpr size_t kMostBytes = 50;  // Leaves room for a number.
  std::string free = name;
  for (int number = 2; IsTaken(free); ++number)
    free = fmt::format("{}-{}", name.substr(0, kMostBytes), number);
  return free;
}

CaptureStore::Kept* CaptureStore::FindRunning(const std::string& name) {
  const auto found = captures_.find(name);
  const bool runs = found != captures_.end() && found->second.record.is_running();
  return runs ? &found->second : nullptr;
}

absl::Status CaptureStore::WriteRecord(Kept& kept) const {
  kept.written_steady_ms = clock_.steady_ms();
  return WriteRecordFile(fd(), kept.record);
}

void CaptureStore::Count(Kept& kept, const CaptureProgress& progress) const {
  CaptureRecord& record = kept.record;
  record.samples = kept.before.samples + progress.samples;
  record.lost = kept.before.lost;
  for (const auto& [reason, samples] : progress.lost) record.lost[reason] += samples;
}

absl::Status CaptureStore::Begin(const CaptureSpec& spec, int64_t started_unix_ns,
                                 int64_t ends_unix_ns, const SpanIds& span, std::string flag) {
  if (absl::Status status = CheckCaptureName(spec.name); !status.ok()) return status;
  Trim();
  while (captures_.size() >= kMostKeptCaptures && DropOldest()) continue;
  if (IsTaken(spec.name))
    return absl::AlreadyExistsError(
        fmt::format("a capture {0} is kept already: take it with \"stackray capture get {0} -o "
                    "FILE\", and choose another name",
                    spec.name));
  Kept kept;
  kept.record.spec = spec;
  kept.record.started_unix_ns = kept.record.updated_unix_ns = started_unix_ns;
  kept.record.ends_unix_ns = ends_unix_ns;
  kept.record.span = span;
  kept.record.flag = std::move(flag);
  // The record is first: batches without one belong to nobody.
  if (absl::Status status = WriteRecord(kept); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<SegmentFile>> file =
      SegmentFile::Create(fd(), BatchesName(spec.name));
  if (!file.ok()) {
    unlinkat(fd(), RecordName(spec.name).c_str(), 0);
    return absl::UnavailableError(file.status().message());
  }
  kept.file = *std::move(file);
  captures_.emplace(spec.name, std::move(kept));
  return absl::OkStatus();
}

absl::Status CaptureStore::Append(const std::string& name, std::string_view bytes) {
  Kept* kept = FindRunning(name);
  if (kept == nullptr || kept->is_left_over) return NotRunning(name);
  const uint64_t frame_bytes = SegmentFile::kLengthBytes + bytes.size();
  if (bytes.size() > SegmentFile::kMaxBatchBytes)
    return absl::ResourceExhaustedError("a batch of more than 64 MiB");
  Trim();
  while (bytes_ + frame_bytes > limits_.bytes && DropOldest()) continue;
  if (bytes_ + frame_bytes > limits_.bytes)
    return absl::ResourceExhaustedError(fmt::format(
        "the running captures have filled capture-bytes ({} MiB)", limits_.bytes / kMiB));
  const absl::StatusOr<StoredBatch> batch = kept->file->Write(bytes, 0, 0);
  if (!batch.ok()) return absl::UnavailableError(batch.status().message());
  kept->file->AddToList(*batch);
  bytes_ += frame_bytes;
  kept->record.batches += 1;
  kept->record.bytes += frame_bytes;
  return absl::OkStatus();
}

absl::Status CaptureStore::Update(const std::string& name, const CaptureProgress& progress) {
  Kept* kept = FindRunning(name);
  if (kept == nullptr || kept->is_left_over) return NotRunning(name);
  Count(*kept, progress);
  kept->record.updated_unix_ns = clock_.unix_ns();
  if (clock_.steady_ms() - kept->written_steady_ms < kWriteEveryMs) return absl::OkStatus();
  return WriteRecord(*kept);
}

absl::Status CaptureStore::Finish(const std::string& name, std::string_view reason,
                                  const CaptureProgress& progress) {
  Kept* kept = FindRunning(name);
  if (kept == nullptr) return NotRunning(name);
  CaptureRecord& record = kept->record;
  if (!kept->is_left_over) {
    Count(*kept, progress);
    record.updated_unix_ns = clock_.unix_ns();
  }
  record.reason = reason;
  record.ended_unix_ns = record.updated_unix_ns;
  kept->finished_steady_ms = clock_.steady_ms();
  kept->is_left_over = false;
  kept->file.reset();
  const absl::Status status = WriteRecord(*kept);
  kept->is_late = !status.ok();
  return status;
}

absl::Status CaptureStore::WriteLateRecords() {
  for (auto& [name, kept] : captures_) {
    if (!kept.is_late) continue;
    if (absl::Status status = WriteRecord(kept); !status.ok()) return status;
    kept.is_late = false;
  }
  return absl::OkStatus();
}

std::vector<CaptureRecord> CaptureStore::Unfinished() const {
  std::vector<CaptureRecord> records;
  for (const auto& [name, kept] : captures_)
    if (kept.is_left_over) records.push_back(kept.record);
  return records;
}

absl::StatusOr<CaptureGap> CaptureStore::Resume(const std::string& name) {
  Kept* kept = FindRunning(name);
  if (kept == nullptr || !kept->is_left_over) return NotRunning(name);
  kept->is_left_over = false;
  kept->before = {kept->record.samples, kept->record.lost};
  const int64_t from = kept->record.updated_unix_ns;
  const CaptureGap gap = {from, std::max(from, clock_.unix_ns())};
  if (absl::Status status = NoteGap(name, gap); !status.ok()) return status;
  return gap;
}

absl::Status CaptureStore::NoteGap(const std::string& name, const CaptureGap& gap) {
  Kept* kept = FindRunning(name);
  if (kept == nullptr) return NotRunning(name);
  std::vector<CaptureGap>& gaps = kept->record.gaps;
  if (gaps.size() < kMostCaptureGaps) {
    gaps.push_back(gap);
  } else {
    gaps.back().to_unix_ns = gap.to_unix_ns;
  }
  return absl::OkStatus();
}

std::vector<CaptureRecord> CaptureStore::List() const {
  std::vector<CaptureRecord> records;
  for (const auto& [name, kept] : captures_) records.push_back(kept.record);
  std::ranges::stable_sort(records, [](const CaptureRecord& a, const CaptureRecord& b) {
    return std::pair(!a.is_running(), -a.started_unix_ns) <
           std::pair(!b.is_running(), -b.started_unix_ns);
  });
  return records;
}

const CaptureRecord* CaptureStore::Find(const std::string& name) const {
  const auto found = captures_.find(name);
  return found == captures_.end() ? nullptr : &found->second.record;
}

absl::Status CaptureStore::Remove(const std::string& name) {
  if (FindRunning(name) != nullptr)
    return absl::FailedPreconditionError(fmt::format("the capture {} runs", name));
  if (!captures_.contains(name))
    return absl::NotFoundError(fmt::format("there is no capture {}", name));
  Drop(name);
  return absl::OkStatus();
}

void CaptureStore::Trim() {
  const int64_t oldest_ms = clock_.steady_ms() - limits_.age_ms;
  for (auto at = captures_.begin(); at != captures_.end();) {
    const auto here = at++;
    if (!here->second.record.is_running() && here->second.finished_steady_ms < oldest_ms)
      Drop(std::string(here->first));
  }
  while ((bytes_ > limits_.bytes || captures_.size() > kMostKeptCaptures) && DropOldest()) continue;
}

bool CaptureStore::DropOldest() {
  const Kept* oldest = nullptr;
  for (const auto& [name, kept] : captures_) {
    if (kept.record.is_running()) continue;
    if (oldest == nullptr || kept.finished_steady_ms < oldest->finished_steady_ms) oldest = &kept;
  }
  if (oldest == nullptr) return false;
  Drop(std::string(oldest->record.spec.name));
  return true;
}

// The batches go first: what a kill leaves then is a record, which the next start takes away.
void CaptureStore::Drop(const std::string& name) {
  const auto found = captures_.find(name);
  bytes_ -= found->second.record.bytes;
  unlinkat(fd(), BatchesName(name).c_str(), 0);
  unlinkat(fd(), RecordName(name).c_str(), 0);
  captures_.erase(found);
}

}  // namespace stackray
