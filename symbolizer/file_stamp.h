// By what a file is known to have the content that it had: size and time of change. A writer sets
// the time before the content changes, so a read whose file has the stamp afterwards was of that
// content.
//
// Not noticed: two writes of one size within one tick of the file system's clock (4 ms and less),
// and a time that was set back.
#ifndef STACKRAY_SYMBOLIZER_FILE_STAMP_H_
#define STACKRAY_SYMBOLIZER_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>

namespace stackray {

struct FileStamp {
  uint64_t size_bytes = 0;
  int64_t mtime_s = 0, mtime_ns = 0;

  static FileStamp Of(const struct stat& info) {
    return {.size_bytes = static_cast<uint64_t>(info.st_size),
            .mtime_s = info.st_mtim.tv_sec,
            .mtime_ns = info.st_mtim.tv_nsec};
  }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

inline bool IsFileUnchanged(int fd, const FileStamp& stamp) {
  struct stat info;
  return fstat(fd, &info) == 0 && FileStamp::Of(info) == stamp;
}

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_FILE_STAMP_H_
