// A regular file that is read by pread and closed with this object.
#ifndef STACKRAY_SYMBOLIZER_FILE_SOURCE_H_
#define STACKRAY_SYMBOLIZER_FILE_SOURCE_H_

#include <sys/stat.h>

#include <memory>
#include <utility>

#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/file_stamp.h"

namespace stackray {

class FileSource : public ByteSource {
 public:
  // nullptr: not open, or not a regular file.
  // `share`: what is to be held as long as the file is.
  static std::unique_ptr<FileSource> Take(UniqueFd fd,
                                          std::shared_ptr<const void> share = nullptr) {
    struct stat info;
    if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
    return std::unique_ptr<FileSource>(
        new FileSource(std::move(fd), FileStamp::Of(info), std::move(share)));
  }
  uint64_t size_bytes() const override { return source_.size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    return source_.ReadAt(offset, out);
  }
  bool IsUnchanged() const override { return IsFileUnchanged(fd_.get(), stamp_); }
  int fd() const { return fd_.get(); }

 private:
  FileSource(UniqueFd fd, const FileStamp& stamp, std::shared_ptr<const void> share)
      : fd_(std::move(fd)),
        share_(std::move(share)),
        stamp_(stamp),
        source_(fd_.get(), stamp.size_bytes) {}
  UniqueFd fd_;
  std::shared_ptr<const void> share_;
  const FileStamp stamp_;
  FdSource source_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_FILE_SOURCE_H_
