// `.otlp` files: a run of sealed batches, each a 4-byte big-endian length and an
// ExportProfilesServiceRequest (the framing of the OpenTelemetry Collector's file exporter in proto
// format), so that any batch can be cut out and read alone.
#ifndef STACKRAY_REPORTER_BATCH_FILE_H_
#define STACKRAY_REPORTER_BATCH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stackray {

inline constexpr size_t kMaxBatchFileFrameBytes = size_t{64} << 20;

// Appends batches to an open file, pipe or socket. Nothing is buffered here.
// Threads: one.
class BatchFileWriter {
 public:
  // The caller owns `fd` and keeps it open. It is blocking.
  explicit BatchFileWriter(int fd) : fd_(fd) {}

  // Errors: ResourceExhausted (disk or quota full), InvalidArgument (batch over
  // kMaxBatchFileFrameBytes), Unavailable (any other write error, the reader of a pipe gone where
  // SIGPIPE is ignored). A regular file is cut back to its last whole batch then, so it stays
  // readable and a later Append() may succeed.
  absl::Status Append(std::string_view batch);

 private:
  absl::Status WriteAll(std::string_view bytes);
  void CutBack(int64_t offset);

  const int fd_;
};

// Reads batches back, one at a time.
// Input:   any bytes: a length over kMaxBatchFileFrameBytes ends the reading, and memory follows
// the
//          bytes that really arrive, not the length that is claimed.
// Threads: one.
class BatchFileReader {
 public:
  // Fills up to `size` bytes, returns how many; 0 is the end.
  using ReadFunction = std::function<absl::StatusOr<size_t>(char* buffer, size_t size)>;

  explicit BatchFileReader(ReadFunction read) : read_(std::move(read)) {}
  // The caller owns `fd` and keeps it open as long as the reader.
  static BatchFileReader FromFd(int fd);

  // The next batch, not decoded; nullopt at the end.
  // Errors: DataLoss (the file ends inside a batch, or a length is not possible), or what the read
  // function returned. The batches before were good. Every later call returns the same error.
  absl::StatusOr<std::optional<std::string>> Next();

  int64_t batches() const { return batches_; }  // Whole ones so far.

 private:
  // Appends `size` bytes to *out, fewer only at the end.
  absl::Status Fill(size_t size, std::string* out);
  absl::StatusOr<std::optional<std::string>> Fail(absl::Status status);

  ReadFunction read_;
  int64_t batches_ = 0;
  uint64_t offset_ = 0;
  absl::Status status_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_BATCH_FILE_H_
