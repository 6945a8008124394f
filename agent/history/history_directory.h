// The directory that holds the history's files, for this process alone.
#ifndef STACKRAY_AGENT_HISTORY_HISTORY_DIRECTORY_H_
#define STACKRAY_AGENT_HISTORY_HISTORY_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct HistoryDirectory {
  UniqueFd directory;
  UniqueFd lock;                   // Held (flock) as long as this is open.
  std::vector<std::string> names;  // Of what lies in it, the lock file left out; at most 4096.
};

// Opens STATE_DIR/history, creating both where missing, readable and writable by its owner alone,
// and locks it. No component that this process creates follows a symbolic link. Errors:
// FailedPrecondition: another process holds the lock, and which one. PermissionDenied: it belongs
// to another user. Unavailable: it cannot be created or written.
absl::StatusOr<HistoryDirectory> OpenHistoryDirectory(const std::string& state_dir);

// As OpenHistoryDirectory(), for another folder: STATE_DIR/NAME.
absl::StatusOr<HistoryDirectory> OpenStateFolder(const std::string& state_dir,
                                                 const std::string& name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_HISTORY_DIRECTORY_H_
