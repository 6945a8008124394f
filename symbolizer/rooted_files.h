// Opening files below a directory that a process may have filled with traps: its root in a
// container.
//
// ".." and links stay inside, and a file is opened only where a certain user may read it
// (kernel/user_files.h). Only regular files are opened for reading, so no device or FIFO sees an
// open; files of FUSE, whose reads another process answers or does not, are refused, and nothing
// else is waited for (kernel/foreign/). Threads: any.
#ifndef STACKRAY_SYMBOLIZER_ROOTED_FILES_H_
#define STACKRAY_SYMBOLIZER_ROOTED_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/file_user.h"
#include "kernel/unique_fd.h"
#include "symbolizer/file_source.h"

namespace stackray {

class RootedFiles {
 public:
  // Not open: every Open() fails.
  RootedFiles(const std::string& directory, FileUser user);
  // The root of process `pid`, as its user. `proc` is "/proc" but in tests.
  static RootedFiles OfProcess(const std::string& proc, uint32_t pid);
  bool valid() const { return root_.valid(); }
  // `path` from that root. nullptr: not there, not a regular file, or not to be trusted.
  std::unique_ptr<FileSource> Open(const std::string& path) const;
  // The names in the directory `path` from that root, in no order: the first `most` of them. None
  // where it cannot be read, or is not to be trusted.
  std::vector<std::string> List(const std::string& path, size_t most) const;

 private:
  RootedFiles(UniqueFd root, FileUser user, uint32_t pid)
      : root_(std::move(root)), user_(std::move(user)), pid_(pid) {}
  UniqueFd root_;
  FileUser user_;
  uint32_t pid_ = 0;  // 0: our own.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_ROOTED_FILES_H_
