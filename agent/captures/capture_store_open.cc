// What CaptureStore finds when it is opened.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>

#include "agent/captures/capture_store.h"
#include "agent/captures/record_file.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kMostWarnings = 10;

int64_t SystemUnixNs() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

int64_t SystemSteadyMs() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1'000'000;
}

// Of the named regular file; nullopt: there is none. Errors: FailedPrecondition (no regular file),
// Unavailable.
absl::StatusOr<std::optional<uint64_t>> SizeOf(int directory, const std::string& name) {
  struct stat facts;
  if (fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return absl::UnavailableError(fmt::format("cannot look at {}: {}", name, strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode))
    return absl::FailedPreconditionError(fmt::format("{} is not a regular file", name));
  return static_cast<uint64_t>(facts.st_size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureStore>> CaptureStore::Open(
    const std::string& state_dir, const CaptureLimits& limits, CaptureClock clock,
    std::vector<std::string>& warnings) {
  absl::StatusOr<HistoryDirectory> directory = OpenStateFolder(state_dir, kCaptureFolder);
  if (!directory.ok()) return directory.status();
  if (!clock.unix_ns) clock.unix_ns = SystemUnixNs;
  if (!clock.steady_ms) clock.steady_ms = SystemSteadyMs;
  std::unique_ptr<CaptureStore> store(
      new CaptureStore(*std::move(directory), limits, std::move(clock)));
  store->ReadAll(warnings);
  store->Trim();
  return store;
}

void CaptureStore::ReadAll(std::vector<std::string>& warnings) {
  std::vector<std::string> skipped;
  for (const std::string& file_name : directory_.names) {
    if (IsRecordInTheMaking(file_name)) {
      unlinkat(fd(), file_name.c_str(), 0);
      continue;
    }
    const std::optional<std::string> name = CaptureOfFile(file_name, kRecordEnding);
    if (name) {
      if (absl::Status status = ReadOne(*name); !status.ok())
        skipped.emplace_back(status.message());
    } else if (!CaptureOfFile(file_name, kBatchesEnding)) {
      skipped.push_back(fmt::format("{} is no capture's file", PrintableText(file_name)));
    }
  }
  for (const std::string& file_name : directory_.names) {
    const std::optional<std::string> name = CaptureOfFile(file_name, kBatchesEnding);
    if (name && !captures_.contains(*name))
      skipped.push_back(fmt::format("{} has no record of its capture", file_name));
  }
  const size_t said = std::min(skipped.size(), kMostWarnings);
  for (size_t i = 0; i < said; ++i)
    warnings.push_back(fmt::format("captures: {}; it is left alone", skipped[i]));
  if (skipped.size() > said)
    warnings.push_back(
        fmt::format("captures: {} more files are left alone", skipped.size() - said));
}

absl::Status CaptureStore::ReadOne(const std::string& name) {
  absl::StatusOr<CaptureRecord> record = ReadRecordFile(fd(), name);
  if (!record.ok()) return record.status();
  Kept kept;
  kept.record = *std::move(record);
  kept.is_left_over = kept.record.is_running();
  if (kept.is_left_over) {
    if (absl::Status status = OpenUnfinished(kept); !status.ok()) return status;
  } else {
    const std::string batches = fmt::format("{}{}", name, kBatchesEnding);
    const absl::StatusOr<std::optional<uint64_t>> size = SizeOf(fd(), batches);
    if (!size.ok()) return size.status();
    if (!*size) {  // Drop() was interrupted.
      unlinkat(fd(), fmt::format("{}{}", name, kRecordEnding).c_str(), 0);
      return absl::OkStatus();
    }
    kept.record.bytes = **size;
    const int64_t age_ms = (clock_.unix_ns() - kept.record.ended_unix_ns) / 1'000'000;
    kept.finished_steady_ms = clock_.steady_ms() - std::max<int64_t>(0, age_ms);
  }
  bytes_ += kept.record.bytes;
  captures_.emplace(name, std::move(kept));
  return absl::OkStatus();
}

absl::Status CaptureStore::OpenUnfinished(Kept& kept) const {
  const std::string name = fmt::format("{}{}", kept.record.spec.name, kBatchesEnding);
  const absl::StatusOr<std::optional<uint64_t>> size = SizeOf(fd(), name);
  if (!size.ok()) return size.status();
  // There is none where Begin() was interrupted.
  absl::StatusOr<std::shared_ptr<SegmentFile>> file =
      *size ? SegmentFile::Open(fd(), name) : SegmentFile::Create(fd(), name);
  if (!file.ok()) return file.status();
  kept.file = *std::move(file);
  CountAnew(kept);
  return absl::OkStatus();
}

// The record may be a second older than the file, and batches that it counted may be cut off.
void CaptureStore::CountAnew(Kept& kept) {
  CaptureRecord& record = kept.record;
  const std::vector<StoredBatch>& batches = kept.file->batches();
  const bool is_shorter = batches.size() < record.batches;
  const size_t counted = is_shorter ? 0 : record.batches;
  if (is_shorter) record.samples = 0;
  for (size_t i = counted; i < batches.size(); ++i) {
    const absl::StatusOr<std::string> bytes = kept.file->Read(batches[i]);
    const absl::StatusOr<BatchWalk> batch =
        bytes.ok() ? BatchWalk::Open(*bytes) : absl::StatusOr<BatchWalk>(bytes.status());
    if (!batch.ok()) continue;
    SummaryCounter counter;
    counter.Add(*batch);
    const ProfileSummary sums = counter.summary();
    record.samples += static_cast<uint64_t>(sums.samples);
    for (const ProfileSummary& other : sums.others)
      record.samples += static_cast<uint64_t>(other.samples);
  }
  record.batches = batches.size();
  record.bytes = kept.file->size_bytes();
}

}  // namespace stackray
