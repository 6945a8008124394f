// Where a path for a result leads, without trust in what other users have put there.
#ifndef STACKRAY_AGENT_RECORD_OUTPUT_PLACE_H_
#define STACKRAY_AGENT_RECORD_OUTPUT_PLACE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct OutputPlace {
  UniqueFd existing;   // O_PATH; not valid: there is nothing.
  UniqueFd directory;  // O_PATH; where `name` can be made. Not valid beside a link of /proc.
  std::string name;
};

// Follows `path` by hand. In a folder where other users may put files (it is writable for
// everybody, or for its group and sticky) a file or a symbolic link counts only when it belongs to
// whoever runs this, to `owner`, or to the folder's owner; a file there has no second name. So
// nobody can lay a file or a link ready that receives a result, whatever fs.protected_regular,
// fs.protected_fifos, fs.protected_symlinks and fs.protected_hardlinks are.
// Links of /proc, such as /dev/stdout leads to, are followed by the kernel.
// Errors: NotFound, PermissionDenied; the text says what is wrong, without the path.
absl::StatusOr<OutputPlace> FindOutputPlace(const std::string& path,
                                            const std::optional<SudoUser>& owner);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_OUTPUT_PLACE_H_
