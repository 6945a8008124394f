// The batches on their way to one receiver, on disk: one checksummed file a batch, so that they
// outlive this process.
//
//   DIRECTORY/RECEIVERHASH/{lock, receiver, SEQUENCE-….batch}
//
// A file is written once and never changed. That it is gone is the record that its batch was
// delivered (or lost, and counted). So there is nothing to replay and nothing to compact: what a
// directory lists is what still has to be delivered.
//
// What survives: after SIGKILL every batch whose Write() returned. After a power cut those that
// Sync() had named; the rest may be torn or missing, and torn ones are found by size or checksum.
//
// Errors: ResourceExhausted (disk or quota full), DataLoss (torn, damaged, gone), Unavailable (any
// other error of the file system). Threads: all functions from any thread.
// Memory: no copy of any batch; found() at most 262,144 entries of about 90 bytes.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"
#include "reporter/export/payload.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {

struct SpoolSettings {
  std::string directory;  // Of all spools, as STATE_DIR/spool; made (0700) when missing.
  std::string receiver;   // Whose this one is (export/receiver_identity.h).
  uint64_t max_bytes = uint64_t{512} << 20;          // Of files, in blocks of 4 KiB.
  std::chrono::milliseconds max_age{6 * 3'600'000};  // Of a batch, from its Write().
  std::function<int64_t()> now_ms;  // Unix milliseconds; empty: the system's clock.
};

struct OpenedSpool;

class Spool {
 public:
  // Opens and locks the receiver's directory and lists what an earlier run has left.
  // Errors: FailedPrecondition only: another process has this spool open. Where the directory
  // cannot be used otherwise (read-only, no rights, …) `spool` is null and a warning says why.
  static absl::StatusOr<OpenedSpool> Open(SpoolSettings settings);

  const SpoolSettings& settings() const { return settings_; }
  int64_t NowMs() const;
  // What Open() found, oldest first, each file of the right size; content not read yet.
  const std::vector<SpoolEntry>& found() const { return found_; }
  // What it found torn, and has removed.
  const std::vector<SpoolEntry>& torn() const { return torn_; }

  // A new file, after all others in order. Does not wait for the disk. On an error nothing is left.
  absl::StatusOr<SpoolEntry> Write(const Payload& payload);
  // Replaces `whole` by its parts, at one moment: whenever this is interrupted, Open() finds either
  // the whole or all parts. With `sync` also by a power cut, and then waits for the disk. On an
  // error the whole is as before.
  absl::StatusOr<std::vector<SpoolEntry>> WriteParts(const SpoolEntry& whole,
                                                     const std::vector<Payload>& parts,
                                                     bool sync = true);
  // Errors: also DataLoss where the content disagrees with the entry.
  absl::StatusOr<Payload> Read(const SpoolEntry& entry) const;
  // Its span, of the header alone; not valid: it has none, or cannot be read.
  BatchTrace ReadTrace(const SpoolEntry& entry) const;
  // One that is gone already is no error.
  absl::Status Remove(const SpoolEntry& entry);
  // Waits until these files, and their names, would survive a power cut. Files gone meanwhile are
  // no error.
  absl::Status Sync(const std::vector<SpoolEntry>& entries);

 private:
  Spool(SpoolSettings settings, UniqueFd directory, UniqueFd lock);
  void List(std::vector<std::string>& warnings);
  absl::Status WriteFile(const SpoolEntry& entry, const Payload& payload);

  const SpoolSettings settings_;
  const UniqueFd directory_;
  const UniqueFd lock_;  // Held (flock) as long as this lives.
  std::vector<SpoolEntry> found_, torn_;
  std::atomic<uint64_t> next_sequence_ = 1;
};

struct OpenedSpool {
  std::unique_ptr<Spool> spool;       // Null: memory only.
  std::vector<std::string> warnings;  // For the log.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_H_
