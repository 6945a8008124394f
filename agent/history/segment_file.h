// One file of the history: frames of a 4-byte big-endian length and a batch, appended one after the
// other. Input:   an opened file may be torn or damaged anywhere; its frames are checked before
// they are listed. Threads: Append() and the accessors from one thread at a time (the history's
// locks); Read() from any. Memory:  32 bytes a batch; the file descriptor lives as long as this,
// also after the file is unlinked.
#ifndef STACKRAY_AGENT_HISTORY_SEGMENT_FILE_H_
#define STACKRAY_AGENT_HISTORY_SEGMENT_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct StoredBatch {
  uint64_t offset = 0;  // Of its bytes, after the length.
  uint32_t length_bytes = 0;
  uint32_t reserved = 0;
  int64_t start_unix_ns = 0;
  int64_t end_unix_ns = 0;
};

class SegmentFile {
 public:
  static constexpr uint64_t kLengthBytes = 4;
  static constexpr uint64_t kMaxBatchBytes = 64 * 1024 * 1024;

  // "SEQUENCE-FIRSTMS.otlp" with leading zeros, and back. Nullopt for any other name.
  static std::string NameOf(uint64_t sequence, int64_t first_ms);
  static std::optional<uint64_t> SequenceOf(std::string_view name);
  // "SEQUENCE-FIRSTMS.index" of a segment's name, and back; empty for any other name.
  static std::string IndexNameOf(std::string_view segment);
  static std::string NameOfIndex(std::string_view index);
  // "SEQUENCE-FIRSTMS.group", likewise.
  static std::string GroupNameOf(std::string_view segment);
  static std::string NameOfGroup(std::string_view group);

  // A new empty file (mode 0600). Errors: Unavailable, ResourceExhausted (disk or quota full).
  static absl::StatusOr<std::shared_ptr<SegmentFile>> Create(int directory, std::string name);
  // An existing one, cut off at its first frame that is not whole; damaged_bytes() says how much.
  // Errors: FailedPrecondition (not a regular file), Unavailable.
  static absl::StatusOr<std::shared_ptr<SegmentFile>> Open(int directory, std::string name);

  // Writes a frame at the end, and lists it only after AddToList(): so that a reader's lock need
  // not be held while the disk works. Errors: ResourceExhausted, Unavailable; the file is then as
  // before.
  absl::StatusOr<StoredBatch> Write(std::string_view bytes, int64_t start_unix_ns,
                                    int64_t duration_ns);
  void AddToList(const StoredBatch& batch) {
    batches_.push_back(batch);
    size_bytes_ = batch.offset + batch.length_bytes;
  }

  // Errors: DataLoss (the file became shorter), Unavailable.
  absl::StatusOr<std::string> Read(const StoredBatch& batch) const;

  void StartWriteOut() const;  // Asks the kernel to write to disk now; does not wait.
  void WaitForDisk() const;

  // When its batches were stored, by the history's AgeClock.
  void Stamp(int64_t time_ms) {
    if (!stamped_) first_stamp_ms_ = time_ms;
    stamped_ = true;
    last_stamp_ms_ = time_ms;
  }
  int64_t first_stamp_ms() const { return first_stamp_ms_; }
  int64_t last_stamp_ms() const { return last_stamp_ms_; }

  const std::string& name() const { return name_; }
  uint64_t size_bytes() const { return size_bytes_; }  // Of the listed frames.
  // Of its index file; 0: it has none.
  uint64_t index_bytes() const { return index_bytes_; }
  void SetIndexBytes(uint64_t bytes) { index_bytes_ = bytes; }
  // Of the index of the group that it is the first of.
  uint64_t group_bytes() const { return group_bytes_; }
  void SetGroupBytes(uint64_t bytes) { group_bytes_ = bytes; }
  uint64_t damaged_bytes() const { return damaged_bytes_; }
  const std::vector<StoredBatch>& batches() const { return batches_; }

 private:
  SegmentFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  absl::Status ListFrames(uint64_t file_bytes);

  const UniqueFd fd_;
  const std::string name_;
  uint64_t size_bytes_ = 0;
  uint64_t damaged_bytes_ = 0, index_bytes_ = 0, group_bytes_ = 0;
  std::vector<StoredBatch> batches_;
  bool stamped_ = false;
  int64_t first_stamp_ms_ = 0, last_stamp_ms_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_SEGMENT_FILE_H_
