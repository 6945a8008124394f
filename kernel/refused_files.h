// Files that root may not read: FUSE that serves its user alone, NFS that makes root a nobody.
//
// Somebody who can act as a process's user (agent/privileges/) reads such a file; without one it
// stays unreadable, as a test or a program without a helper has it.
// Threads: any.
#ifndef STACKRAY_KERNEL_REFUSED_FILES_H_
#define STACKRAY_KERNEL_REFUSED_FILES_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// What a file said of itself while its bytes were copied.
struct CopiedFile {
  UniqueFd fd;                        // Of the copy; invalid where only the facts were asked for.
  struct stat info = {};              // Of the file: mode, device, inode, size and mtime alone.
  std::shared_ptr<const void> share;  // Of the room for copies: held as long as the copy is.
};

class RefusedFiles {
 public:
  virtual ~RefusedFiles() = default;
  // The file behind `path_fd` (O_PATH), as the user of process `pid`. Errors: NotFound (no such
  // process), PermissionDenied (refused to that user too), Unavailable (no answer in time, a file
  // that changed, no room).
  virtual absl::StatusOr<CopiedFile> Copy(int path_fd, uint32_t pid) = 0;
  // Its facts alone.
  virtual absl::StatusOr<CopiedFile> Look(int path_fd, uint32_t pid) = 0;
};

// Who reads them from now on; outlives every later use. nullptr: nobody.
void SetRefusedFiles(RefusedFiles* files);
RefusedFiles* GetRefusedFiles();

}  // namespace stackray

#endif  // STACKRAY_KERNEL_REFUSED_FILES_H_
