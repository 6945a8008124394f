// A regular file that is read by pread and closed with this object.
#ifndef STACKRAY_SYMBOLIZER_FILE_SOURCE_H_
#define STACKRAY_SYMBOLIZER_FILE_SOURCE_H_

#include <sys/stat.h>

#include <memory>
#include <utility>

#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"

namespace stackray {

class FileSource : public ByteSource {
 public:
  // nullptr: not open, or not a regular file.
  static std::unique_ptr<FileSource> Take(UniqueFd fd) {
    struct stat info;
    if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
    return std::unique_ptr<FileSource>(
        new FileSource(std::move(fd), static_cast<uint64_t>(info.st_size)));
  }
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    return source_.ReadAt(offset, out);
  }
  int fd() const { return fd_.get(); }

 private:
  FileSource(UniqueFd fd, uint64_t size_bytes)
      : fd_(std::move(fd)), source_(fd_.get(), size_bytes) {}
  UniqueFd fd_;
  FdSource source_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_FILE_SOURCE_H_
