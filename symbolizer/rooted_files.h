// Opening files below a directory that a process may have filled with traps: its root in a
// container.
//
// The kernel resolves the path as if the directory were the root (openat2 with RESOLVE_IN_ROOT,
// Linux 5.6): ".." and links stay inside. Only regular files are opened for reading, so no device
// or FIFO sees an open; files of FUSE, whose reads another process answers or does not, are
// refused. Threads: any.
#ifndef STACKRAY_SYMBOLIZER_ROOTED_FILES_H_
#define STACKRAY_SYMBOLIZER_ROOTED_FILES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/unique_fd.h"
#include "symbolizer/file_source.h"

namespace stackray {

class RootedFiles {
 public:
  // `directory` may be /proc/PID/root. Not open: every Open() fails.
  explicit RootedFiles(const std::string& directory);
  bool valid() const { return root_.valid(); }
  // `path` from that root. nullptr: not there, not a regular file, or not to be trusted.
  std::unique_ptr<FileSource> Open(const std::string& path) const;
  // The names in the directory `path` from that root, in no order: the first `most` of them. None
  // where it cannot be read, or is not to be trusted.
  std::vector<std::string> List(const std::string& path, size_t most) const;

 private:
  UniqueFd OpenPlace(const std::string& path) const;  // O_PATH; not of FUSE.
  UniqueFd root_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_ROOTED_FILES_H_
