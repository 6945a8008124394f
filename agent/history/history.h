// The agent's bounded local history: sealed batches, oldest first, so that the local page shows the
// last hours without any receiver.
//
// On disk: STATE_DIR/history/SEQUENCE-FIRSTMS.otlp, and beside a full one its index for the page,
// SEQUENCE-FIRSTMS.index, which is made again where it is missing. Beside the first of a group of
// segments stands an index of all of the group, SEQUENCE-FIRSTMS.group. A segment is a run of
// 4-byte big-endian length + batch, so it is itself a valid .otlp file. Whole segments are dropped,
// oldest first, when the bytes or the age exceed their bounds; a segment holds at most 1/32 of the
// bytes and 1/24 of the age.
//
// Age is what has passed since a batch was stored, by a clock that does not jump: setting the wall
// clock neither drops a batch nor keeps it. Of what an earlier process left, the wall clock of the
// opening says the age, and a time in the future counts as now. Times of queries are the batches'
// own, by the wall clock that they were taken under.
//
// Where the disk takes no more (full, read-only, failing), the newest batches wait in memory, half
// of memory_bytes at most, and are written in their order once it does. While more than half of
// that is used, each Append() gives up the oldest segment of a full disk for them: so the newest
// stays, whatever else fills the disk.
//
// What survives: after SIGKILL every batch whose Append() returned. After a power cut the last
// seconds may be missing: Append() never waits for the disk (no fsync); a full segment's write-out
// is started, and the destructor waits for the last one. A torn or damaged tail is cut off when
// opened, and counted.
//
// Threads: Append() from any one thread at a time, everything else from any thread at any time; a
// Query()
//          holds no lock while it reads, and sees segments that are dropped meanwhile to their end.
// Memory:  32 bytes a batch and one file descriptor a segment (at most 256); on disk nothing else.
// In memory:
//          the batches.
#ifndef STACKRAY_AGENT_HISTORY_HISTORY_H_
#define STACKRAY_AGENT_HISTORY_HISTORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/batch.h"

namespace stackray {

struct HistorySettings {
  std::string state_dir;                     // Created (0700) when missing.
  uint64_t max_bytes = 256 * 1024 * 1024;    // Of files, lengths included.
  int64_t max_age_ms = 24LL * 3600 * 1000;   // Since a batch was stored.
  uint64_t memory_bytes = 32 * 1024 * 1024;  // Instead of max_bytes while memory-only, if smaller.
  std::function<int64_t()> now_ms;           // Unix milliseconds; empty: the system's clock.
  // Milliseconds since any moment; empty: now_ms where a test gives one, else CLOCK_BOOTTIME.
  std::function<int64_t()> steady_ms;
};

// The time by which batches age: Unix milliseconds at its making, and steady from then on.
class AgeClock {
 public:
  explicit AgeClock(const HistorySettings& settings)  // Both clocks are set.
      : steady_ms_(settings.steady_ms), offset_ms_(settings.now_ms() - settings.steady_ms()) {}
  int64_t NowMs() const { return steady_ms_() + offset_ms_; }

 private:
  std::function<int64_t()> steady_ms_;
  int64_t offset_ms_;
};

// Counts since it was opened, except where it says "now".
struct HistoryStatistics {
  bool on_disk = false;                           // But for memory_bytes.
  uint64_t bytes = 0, batches = 0, segments = 0;  // Now; those in memory are in batches alone.
  uint64_t memory_bytes = 0;                      // Now, in memory.
  // Now: the first start, and the end of the batch that was stored last, whatever ends others have
  // from a clock that was ahead; 0: empty.
  int64_t oldest_ms = 0, newest_ms = 0;
  uint64_t appended_batches = 0, appended_samples = 0;
  uint64_t appended_markers = 0;                    // Of these samples, markers of lost ones.
  uint64_t expired_batches = 0;                     // Dropped for their age.
  uint64_t evicted_batches = 0;                     // Dropped for their bytes.
  uint64_t failed_batches = 0, failed_samples = 0;  // Could not be stored: larger than the bounds.
  uint64_t failed_markers = 0;                      // Of these samples.
  uint64_t damaged_bytes = 0;                       // Cut off when opened.
  uint64_t read_errors = 0;                         // Batches that a query could not read.
};

// Some batches of the history, in the order they were appended: what an index is made of. Equal
// names mean equal batches.
struct HistoryRun {
  static constexpr size_t kBatches = 8;  // Of a segment that still grows.

  std::string name;  // "SEGMENT/FIRST+COUNT"; the segment's own name for a whole one.
  std::string segment;
  size_t first = 0, count = 0;       // Of the segment's batches.
  int64_t start_ms = 0, end_ms = 0;  // First start, last end.
  bool whole = false;    // A segment that will not change: its index can be kept beside it …
  bool indexed = false;  // … and is.
  // So many segments, one after the other, can have one more index together.
  static constexpr size_t kGroup = 8;
  std::string group;           // The name of its first segment; empty: it is not complete.
  bool group_indexed = false;  // That index is kept.
};

// A file's bytes in memory, for as long as this lives. Its pages are read again where they are
// needed and dropped where memory is short.
class MappedFile {
 public:
  // Errors: Unavailable, FailedPrecondition (no regular file). All of it has been read once then.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(int directory,
                                                                const std::string& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {bytes_, size_}; }
  void DropPages() const;  // From this process's memory.

 private:
  MappedFile(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}
  const char* const bytes_;
  const size_t size_;
};

class History {
 public:
  virtual ~History() = default;

  // Stores one batch (not null), dropping old ones where the bounds ask for it.
  // Errors: ResourceExhausted: larger than the bounds. The batch is then counted as failed, the
  // history stays whole, and the next Append() may succeed.
  virtual absl::Status Append(const SealedBatchPtr& batch) = 0;
  // Why the disk did not take the last batch, so that it waits in memory; empty: it did, or all is
  // in memory.
  virtual std::string failing_with() const { return ""; }

  // Visits the bytes of every batch that overlaps [from_ms, to_ms), in the order they were
  // appended, until `visit` returns false. The bytes are lent for the call. Returns how many were
  // visited; a batch that cannot be read is skipped and counted.
  virtual uint64_t Query(int64_t from_ms, int64_t to_ms,
                         const std::function<bool(std::string_view bytes)>& visit) = 0;

  // All batches that overlap [from_ms, to_ms), in runs; a run may reach beyond.
  virtual std::vector<HistoryRun> Runs(int64_t from_ms, int64_t to_ms) = 0;
  // As Query(), of one run. A run whose batches are gone is visited as far as they are there.
  virtual uint64_t Visit(const HistoryRun& run,
                         const std::function<bool(std::string_view bytes)>& visit) = 0;
  // The index that was kept of a whole run. Errors: NotFound, Unavailable.
  virtual absl::StatusOr<std::shared_ptr<const MappedFile>> Index(const HistoryRun&) {
    return absl::NotFoundError("in memory");
  }
  // Keeps it; counted as bytes of the history, and dropped with the run's segment.
  // Errors: NotFound (the run is gone, or in memory), ResourceExhausted, Unavailable.
  virtual absl::Status KeepIndex(const HistoryRun&, std::string_view) {
    return absl::NotFoundError("in memory");
  }

  // As Index() and KeepIndex(), of a group; dropped with its first segment.
  virtual absl::StatusOr<std::shared_ptr<const MappedFile>> GroupIndex(const std::string&) {
    return absl::NotFoundError("in memory");
  }
  virtual absl::Status KeepGroupIndex(const std::string&, std::string_view) {
    return absl::NotFoundError("in memory");
  }

  virtual HistoryStatistics statistics() const = 0;

  // In memory: keeps at most so many bytes from now on, never more than the settings say. On disk:
  // nothing.
  virtual void LimitMemory(uint64_t) {}
};

struct OpenedHistory {
  std::unique_ptr<History> history;
  std::vector<std::string>
      warnings;  // For the log: memory-only and why, damage that was cut off, ….
};

// On disk; where the directory cannot be used, in memory, with a warning.
// Errors: FailedPrecondition only: another process has this history open.
absl::StatusOr<OpenedHistory> OpenHistory(HistorySettings settings);

// Unix milliseconds of the system's clock.
int64_t SystemNowMs();

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_HISTORY_H_
