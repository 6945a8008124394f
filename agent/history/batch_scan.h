// Finds a stored batch's time range without decoding it: reads a few bytes at each field's start
// and skips the rest. Field numbers: reporter/proto/profiles.proto. Input: bytes of a file that may
// be damaged anywhere. Bounded by the batch's length; reads nothing outside.
#ifndef STACKRAY_AGENT_HISTORY_BATCH_SCAN_H_
#define STACKRAY_AGENT_HISTORY_BATCH_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>

namespace stackray {

// Reads a file here and there through one small buffer. Not for several threads.
class FileWindow {
 public:
  explicit FileWindow(int fd) : fd_(fd) {}  // `fd` outlives this.
  // The byte at `offset`; nullopt past the file's end or where reading fails.
  std::optional<uint8_t> At(uint64_t offset);

 private:
  const int fd_;
  std::string buffer_;
  uint64_t buffer_offset_ = 0;
};

struct BatchTimes {
  int64_t start_unix_ns = 0;
  int64_t duration_ns = 0;
};

// Times of the first profile of the ExportProfilesServiceRequest in [offset, offset + length).
// Nullopt unless all of it is in the file, its top-level fields are resource_profiles and
// dictionary alone and fill the range exactly, which a wrong length all but never does, and a
// profile in it has a time.
std::optional<BatchTimes> ScanBatch(FileWindow& file, uint64_t offset, uint64_t length);

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_BATCH_SCAN_H_
