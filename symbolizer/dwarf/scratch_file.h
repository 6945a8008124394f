// Bytes that are too many for memory: an unnamed file that goes away with this object, also when
// the agent is killed.
// Threads: one writes; then any may read.
#ifndef STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_
#define STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"

namespace stackray::dwarf {

class ScratchFile : public ByteSource {
 public:
  // In `directory`, which should be a disk's. Takes at most `max_bytes`.
  // Errors: Unavailable (no such directory, no right, no O_TMPFILE there).
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(const std::string& directory,
                                                             uint64_t max_bytes);
  // Errors: ResourceExhausted (over max_bytes), Unavailable (disk full, I/O error).
  absl::Status Append(std::span<const uint8_t> bytes);

  uint64_t size_bytes() const override { return size_bytes_; }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override;

 private:
  ScratchFile(UniqueFd fd, uint64_t max_bytes) : fd_(std::move(fd)), max_bytes_(max_bytes) {}
  UniqueFd fd_;
  uint64_t max_bytes_;
  uint64_t size_bytes_ = 0;
};

}  // namespace stackray::dwarf

#endif  // STACKRAY_SYMBOLIZER_DWARF_SCRATCH_FILE_H_
