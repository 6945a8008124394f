// Directories of the state that belong to this process's user alone.
#ifndef STACKRAY_KERNEL_PRIVATE_DIRECTORY_H_
#define STACKRAY_KERNEL_PRIVATE_DIRECTORY_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Opens directory `name` of `parent` (or AT_FDCWD), which is no symbolic link, and makes it
// readable and writable by its owner alone. `shown`: its path in messages.
// Errors: PermissionDenied: it belongs to another user. Unavailable: it cannot be opened or
//         changed.
absl::StatusOr<UniqueFd> OpenPrivateDirectory(int parent, const std::string& name,
                                              std::string_view shown);

// "pid 123", from a lock file whose holder wrote its number; "unknown pid" without one.
std::string LockHolder(int lock);

// The names in an open directory, sorted, but "." and ".." and those that `is_ours` knows; at most
// `max_names`, and whether that was all.
struct ListedNames {
  std::vector<std::string> names;
  bool all = true;
};
ListedNames ListNames(int directory, size_t max_names,
                      const std::function<bool(std::string_view name)>& is_ours);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PRIVATE_DIRECTORY_H_
