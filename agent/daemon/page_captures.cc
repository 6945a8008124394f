#include "agent/daemon/page_captures.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/captures/capture_store.h"
#include "agent/captures/record_file.h"
#include "agent/history/batch_scan.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kMostNames = 2 * kMostKeptCaptures + 100;
constexpr size_t kRunBatches = 64;

int64_t SteadyMs() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / kNsPerMs;
}

UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::vector<CaptureRecord> ReadRecords(const std::string& path) {
  std::vector<CaptureRecord> records;
  const UniqueFd directory = OpenDirectory(path);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(path.c_str()), &closedir);
  if (!directory.valid() || listing == nullptr) return records;
  const dirent* entry = nullptr;
  for (size_t i = 0; i < kMostNames && (entry = readdir(listing.get())) != nullptr; ++i) {
    const std::optional<std::string> name = CaptureOfFile(entry->d_name, kRecordEnding);
    if (!name) continue;
    absl::StatusOr<CaptureRecord> record = ReadRecordFile(directory.get(), *name);
    if (record.ok()) records.push_back(*std::move(record));
  }
  std::ranges::sort(records, [](const CaptureRecord& a, const CaptureRecord& b) {
    return a.is_running() != b.is_running() ? a.is_running()
                                            : a.started_unix_ns > b.started_unix_ns;
  });
  return records;
}

class BatchFileHistory final : public History {
 public:
  BatchFileHistory(UniqueFd fd, std::string label) : fd_(std::move(fd)), label_(std::move(label)) {}

  absl::Status Append(const SealedBatchPtr&) override {
    return absl::FailedPreconditionError("only read");
  }
  uint64_t Query(int64_t from_ms, int64_t to_ms,
                 const std::function<bool(std::string_view)>& visit) override {
    uint64_t visited = 0;
    for (const Batch& batch : Batches()) {
      if (batch.start_ms >= to_ms || batch.end_ms < from_ms) continue;
      const std::string bytes = Read(batch);
      if (bytes.empty()) continue;
      ++visited;
      if (!visit(bytes)) break;
    }
    return visited;
  }
  std::vector<HistoryRun> Runs(int64_t from_ms, int64_t to_ms) override {
    const std::vector<Batch> batches = Batches();
    std::vector<HistoryRun> runs;
    for (size_t first = 0; first < batches.size(); first += kRunBatches) {
      const size_t count = std::min(kRunBatches, batches.size() - first);
      HistoryRun run{.name = fmt::format("{}/{}+{}", label_, first, count),
                     .segment = label_,
                     .first = first,
                     .count = count,
                     .start_ms = INT64_MAX};
      for (size_t i = first; i < first + count; ++i) {
        run.start_ms = std::min(run.start_ms, batches[i].start_ms);
        run.end_ms = std::max(run.end_ms, batches[i].end_ms);
      }
      if (run.start_ms < to_ms && run.end_ms >= from_ms) runs.push_back(std::move(run));
    }
    return runs;
  }
  uint64_t Visit(const HistoryRun& run,
                 const std::function<bool(std::string_view)>& visit) override {
    const std::vector<Batch> batches = Batches();
    uint64_t visited = 0;
    for (size_t i = run.first; i < std::min(run.first + run.count, batches.size()); ++i) {
      const std::string bytes = Read(batches[i]);
      if (bytes.empty()) continue;
      ++visited;
      if (!visit(bytes)) break;
    }
    return visited;
  }
  HistoryStatistics statistics() const override { return {}; }

 private:
  struct Batch {
    uint64_t offset = 0;
    uint32_t length = 0;
    int64_t start_ms = 0, end_ms = 0;
  };

  // With those that were written meanwhile.
  std::vector<Batch> Batches() {
    const std::lock_guard lock(mutex_);
    FileWindow window(fd_.get());
    while (true) {
      uint64_t length = 0;
      for (size_t i = 0; i < SegmentFile::kLengthBytes; ++i) {
        const std::optional<uint8_t> byte = window.At(end_ + i);
        if (!byte) return batches_;
        length = length << 8 | *byte;
      }
      if (length == 0 || length > SegmentFile::kMaxBatchBytes) return batches_;
      const uint64_t offset = end_ + SegmentFile::kLengthBytes;
      const std::optional<BatchTimes> times = ScanBatch(window, offset, length);
      if (!times) return batches_;
      batches_.push_back({offset, static_cast<uint32_t>(length), times->start_unix_ns / kNsPerMs,
                          (times->start_unix_ns + times->duration_ns) / kNsPerMs});
      end_ = offset + length;
    }
  }
  // Empty: it cannot be read.
  std::string Read(const Batch& batch) const {
    std::string bytes(batch.length, '\0');
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t got = pread(fd_.get(), bytes.data() + at, bytes.size() - at,
                                static_cast<off_t>(batch.offset + at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return "";
      at += static_cast<size_t>(got);
    }
    return bytes;
  }

  const UniqueFd fd_;
  const std::string label_;
  std::mutex mutex_;  // Guards all below.
  std::vector<Batch> batches_;
  uint64_t end_ = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<History>> OpenBatchFile(int directory, const std::string& file,
                                                       std::string label) {
  UniqueFd fd(openat(directory, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return absl::NotFoundError(file);
  struct stat facts = {};
  if (!fd.valid() || fstat(fd.get(), &facts) != 0)
    return absl::UnavailableError(fmt::format("cannot open {}: {}", file, std::strerror(errno)));
  if (!S_ISREG(facts.st_mode))
    return absl::FailedPreconditionError(fmt::format("{} is no regular file", file));
  // Another file of that name is another capture.
  label = fmt::format("{}:{}", label, facts.st_ino);
  return std::make_shared<BatchFileHistory>(std::move(fd), std::move(label));
}

void PageCaptures::SetStateDirectory(std::string state_dir) {
  const std::lock_guard lock(mutex_);
  directory_ = state_dir.empty() ? "" : fmt::format("{}/{}", state_dir, kCaptureFolder);
  listed_ms_ = INT64_MIN;
  opened_.clear();
}

std::vector<CaptureRecord> PageCaptures::List() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ms = SteadyMs();
  if (listed_ms_ == INT64_MIN || now_ms - listed_ms_ >= kListedForMs) {
    records_ = directory_.empty() ? std::vector<CaptureRecord>() : ReadRecords(directory_);
    listed_ms_ = now_ms;
  }
  return records_;
}

absl::StatusOr<std::shared_ptr<History>> PageCaptures::Open(const std::string& name) {
  const std::vector<CaptureRecord> records = List();
  const std::lock_guard lock(mutex_);
  const auto record =
      std::ranges::find_if(records, [&](const auto& each) { return each.spec.name == name; });
  if (record == records.end()) return absl::NotFoundError("no capture of that name");
  const std::string key = fmt::format("@{}@{}", name, record->started_unix_ns);
  const auto known = std::ranges::find(opened_, key, &Opened::name);
  if (known != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, known);
    return opened_.front().history;
  }
  const UniqueFd directory = OpenDirectory(directory_);
  if (!directory.valid()) return absl::NotFoundError("there are no captures");
  absl::StatusOr<std::shared_ptr<History>> opened =
      OpenBatchFile(directory.get(), fmt::format("{}{}", name, kBatchesEnding), key);
  if (!opened.ok()) return opened.status();
  opened_.push_front({key, *opened});
  if (opened_.size() > kMostOpen) opened_.pop_back();
  return *opened;
}

}  // namespace stackray
