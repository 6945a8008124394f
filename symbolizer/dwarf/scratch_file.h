// Bytes that are too many for memory: an unnamed file that goes away with this object, also when
// the agent is killed.
// Disk:    each at most its own bound, and all of this process together at most `most_in_all`.
// Threads: one writes; then any may read.
#ifndef STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_
#define STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"

namespace stackray::dwarf {

inline constexpr uint64_t kMostScratchBytes = uint64_t{2} << 30;  // All of this process.

class ScratchFile : public ByteSource {
 public:
  // In `directory`, which should be a disk's. Takes at most `max_bytes`.
  // Errors: Unavailable (no such directory, no right, no O_TMPFILE there).
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(
      const std::string& directory, uint64_t max_bytes, uint64_t most_in_all = kMostScratchBytes);
  ~ScratchFile() override;

  // Of all of this process that are there. Threads: any.
  static uint64_t BytesInUse();

  // From now on it takes no more than this, where that is less than before.
  void Limit(uint64_t max_bytes) { max_bytes_ = std::min(max_bytes_, max_bytes); }
  // Errors: ResourceExhausted (over max_bytes, or all together over most_in_all), Unavailable (disk
  // full, I/O error).
  absl::Status Append(std::span<const uint8_t> bytes);

  uint64_t size_bytes() const override { return size_bytes_; }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override;

 private:
  ScratchFile(UniqueFd fd, uint64_t max_bytes, uint64_t most_in_all)
      : fd_(std::move(fd)), max_bytes_(max_bytes), most_in_all_(most_in_all) {}
  UniqueFd fd_;
  uint64_t max_bytes_;
  const uint64_t most_in_all_;
  uint64_t counted_bytes_ = 0;  // Of this one in BytesInUse().
  uint64_t size_bytes_ = 0;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_
