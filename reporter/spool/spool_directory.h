// The directories of spools: made for their owner alone, locked, listed. Knows no batch.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_DIRECTORY_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_DIRECTORY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/private_directory.h"  // ListedNames
#include "kernel/unique_fd.h"

namespace stackray {

// The folder of a receiver: 16 hex digits (FNV-1a). Equal for equal text, on every machine.
std::string SpoolFolderName(std::string_view receiver);

struct SpoolDirectory {
  UniqueFd directory;
  UniqueFd lock;  // Held (flock) as long as this is open.
};

// Makes `root` and the receiver's folder where missing (0700), locks the folder, and notes the
// receiver in it for whoever looks. No component that is made here follows a symbolic link.
// Errors: FailedPrecondition: another process holds the lock, and which one. PermissionDenied: it
// belongs to another user. Unavailable: it cannot be made, locked or written.
absl::StatusOr<SpoolDirectory> OpenSpoolDirectory(const std::string& root,
                                                  std::string_view receiver);

// An existing folder in `root`, locked; nothing is made. Errors: as above.
absl::StatusOr<SpoolDirectory> LockSpoolFolder(int root, const std::string& folder);

// All names in it, sorted, but ".", ".." and our own two files; at most `max_names`.
ListedNames NamesIn(int directory, size_t max_names);

// ResourceExhausted where a disk, quota or file size limit is full; else Unavailable.
absl::Status SpoolError(std::string_view what, std::string_view name, int error);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_DIRECTORY_H_
