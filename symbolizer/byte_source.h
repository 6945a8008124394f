// Bytes of a foreign file or memory image, read piece by piece.
//
// Parsers take one of these instead of a path or a mapping: a mapped foreign file can shrink under
// the reader (SIGBUS) and its pages count as ours.
#ifndef STACKRAY_SYMBOLIZER_BYTE_SOURCE_H_
#define STACKRAY_SYMBOLIZER_BYTE_SOURCE_H_

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stackray {

// Threads: ReadAt may be called from several threads at once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size_bytes() const = 0;
  // Fills all of `out` or fails. Errors: OutOfRange (past the end), Unavailable (I/O error).
  virtual absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const = 0;
  // False: the content is another than when this was made, and what was read since then may be of
  // either. Who keeps something asks after the last read of it.
  virtual bool IsUnchanged() const { return true; }

  // Errors: as ReadAt; ResourceExhausted when `size_bytes` is over `limit_bytes`.
  absl::StatusOr<std::vector<uint8_t>> Read(uint64_t offset, uint64_t size_bytes,
                                            uint64_t limit_bytes) const {
    if (size_bytes > limit_bytes)
      return absl::ResourceExhaustedError("section larger than its bound");
    if (offset > this->size_bytes() || size_bytes > this->size_bytes() - offset)
      return absl::OutOfRangeError("read past the end");  // Before the memory for it is taken.
    std::vector<uint8_t> bytes(size_bytes);
    if (absl::Status status = ReadAt(offset, bytes); !status.ok()) return status;
    return bytes;
  }
};

// Bytes that somebody else owns and keeps alive.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return absl::OutOfRangeError("read past the end");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return absl::OkStatus();
  }

 private:
  std::span<const uint8_t> bytes_;
};

// A file descriptor that somebody else owns and keeps open; read by pread.
class FdSource : public ByteSource {
 public:
  FdSource(int fd, uint64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}
  uint64_t size_bytes() const override { return size_bytes_; }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (offset > size_bytes_ || out.size() > size_bytes_ - offset)
      return absl::OutOfRangeError("read past the end");
    while (!out.empty()) {
      const ssize_t n = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return absl::UnavailableError("cannot read the file");
      if (n == 0) return absl::OutOfRangeError("the file became shorter");
      out = out.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

 private:
  int fd_;
  uint64_t size_bytes_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_BYTE_SOURCE_H_
