// The captures' files: STATE_DIR/captures, its owner's alone (0700).
//
//   NAME.otlp   the batches, as reporter/batch_file.h has them; any tool of ours opens it
//   NAME.json   a CaptureRecord, replaced by rename, once a second at most while the capture runs
//
// A name belongs to one capture until its files are gone. Finished captures go when they are too
// old or when bytes are needed, the oldest first; a running one never goes. Age is measured by a
// clock that does not jump.
//
// What survives: after SIGKILL every batch whose Append() returned, and a record that is at most a
// second older. After a power cut the last seconds may be missing: nothing here waits for the disk.
//
// Input: the directory may hold anything. What is no capture's file, or a damaged record, is named
// in a warning and left alone; so is a file that a damaged record belongs to.
// Threads: one. Memory: a record a capture, kMostKeptCaptures of them; one descriptor a running
// one.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_STORE_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/captures/capture_record.h"
#include "agent/history/history_directory.h"
#include "agent/history/segment_file.h"

namespace stackray {

inline constexpr char kCaptureFolder[] = "captures";
inline constexpr size_t kMostKeptCaptures = 200;

struct CaptureLimits {
  uint64_t bytes = 256 * kMiB;          // Of all batches.
  int64_t age_ms = 24LL * 3600 * 1000;  // Since a capture finished.
};

// Empty: the system's.
struct CaptureClock {
  std::function<int64_t()> unix_ns;
  std::function<int64_t()> steady_ms;  // Milliseconds since any moment.
};

// What the agent has counted of a running capture since Begin() or Resume().
struct CaptureProgress {
  uint64_t samples = 0;  // In the batches that were appended, markers of lost ones left out.
  std::map<std::string, uint64_t> lost;
};

class CaptureStore {
 public:
  // Makes and locks the directory, and reads what is there; adds what it skipped to `warnings`, a
  // line each. Errors: FailedPrecondition (another agent has it), PermissionDenied (it is another
  // user's), Unavailable.
  static absl::StatusOr<std::unique_ptr<CaptureStore>> Open(const std::string& state_dir,
                                                            const CaptureLimits& limits,
                                                            CaptureClock clock,
                                                            std::vector<std::string>& warnings);

  // Takes effect with the next Append() or Trim().
  void SetLimits(const CaptureLimits& limits) { limits_ = limits; }

  // The name itself, or NAME-2, NAME-3, …: the first that no capture has.
  std::string FreeName(const std::string& name) const;

  // Errors: AlreadyExists (a capture of that name is kept, with what to do), InvalidArgument (no
  // name of a capture), Unavailable (the disk is full or fails; nothing is left of it).
  absl::Status Begin(const CaptureSpec& spec, int64_t started_unix_ns, int64_t ends_unix_ns,
                     const SpanIds& span = {}, std::string flag = {});
  // `bytes` is one sealed batch. Errors: ResourceExhausted (the limit is reached though all
  // finished captures are gone, or the batch is larger than 64 MiB), Unavailable (the disk is full
  // or fails), NotFound (no such capture runs). The file is then as it was.
  absl::Status Append(const std::string& name, std::string_view bytes);
  // Call it as often as you like: it writes once a second at most. Errors: Unavailable, NotFound.
  absl::Status Update(const std::string& name, const CaptureProgress& progress);
  // Writes the records that Finish() could not write. Errors: Unavailable.
  absl::Status WriteLateRecords();
  // `reason` is not empty. A capture that nobody resumed ended when it was last updated. Errors:
  // Unavailable (the record could not be written: until WriteLateRecords() did it, the
  // capture is among Unfinished() again after a restart), NotFound.
  absl::Status Finish(const std::string& name, std::string_view reason,
                      const CaptureProgress& progress = {});

  // Running ones that an earlier agent left, by name. Their files are cut back to the last whole
  // batch and their samples counted anew. Each wants Resume() or Finish().
  std::vector<CaptureRecord> Unfinished() const;
  // Goes on with one of these; the time since its last update is noted as a gap, which is returned.
  // Progress adds to what its record says. Errors: NotFound.
  absl::StatusOr<CaptureGap> Resume(const std::string& name);
  // A time without samples while the agent ran, as a reload makes one. Errors: NotFound.
  absl::Status NoteGap(const std::string& name, const CaptureGap& gap);

  // Running ones first, then the newest first. The pointer lives until the next change.
  std::vector<CaptureRecord> List() const;
  const CaptureRecord* Find(const std::string& name) const;
  uint64_t bytes() const { return bytes_; }

  // Of a finished one. Errors: NotFound, FailedPrecondition (it runs).
  absl::Status Remove(const std::string& name);
  // Drops finished ones that are too old or too many. Cheap; call it now and then.
  void Trim();

  // What `capture get` reads.
  static std::string FileOf(const std::string& state_dir, const std::string& name);

 private:
  struct Kept {
    CaptureRecord record;
    std::shared_ptr<SegmentFile> file;  // Of a running one.
    bool is_left_over = false;          // By an earlier agent, and nobody resumed it yet.
    CaptureProgress before;             // Counted before Resume().
    int64_t written_steady_ms = 0;      // Its record.
    bool is_late = false;               // Its record is to be written again: it was finished.
    int64_t finished_steady_ms = 0;
  };

  CaptureStore(HistoryDirectory directory, const CaptureLimits& limits, CaptureClock clock)
      : directory_(std::move(directory)), limits_(limits), clock_(std::move(clock)) {}
  int fd() const { return directory_.directory.get(); }

  void ReadAll(std::vector<std::string>& warnings);
  // Nothing is listed where there is an error.
  absl::Status ReadOne(const std::string& name);
  absl::Status OpenUnfinished(Kept& kept) const;
  static void CountAnew(Kept& kept);

  bool IsTaken(const std::string& name) const;
  Kept* FindRunning(const std::string& name);
  void Count(Kept& kept, const CaptureProgress& progress) const;
  absl::Status WriteRecord(Kept& kept) const;
  // The oldest finished one. False: there is none.
  bool DropOldest();
  void Drop(const std::string& name);

  const HistoryDirectory directory_;
  CaptureLimits limits_;
  const CaptureClock clock_;  // Both are set.
  std::map<std::string, Kept> captures_;
  uint64_t bytes_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_STORE_H_
