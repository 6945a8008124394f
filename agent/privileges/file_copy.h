// Reading a file as another user, in a process of its own (helper_process.cc forks it).
//
// FUSE without allow_root, and NFS with root squash, refuse root and serve the file's user. Who
// serves a FUSE file is the user's own program, which may answer late, never, or differently each
// time: so the bytes are copied once, by a process that may hang, and the agent reads the copy.
#ifndef STACKRAY_AGENT_PRIVILEGES_FILE_COPY_H_
#define STACKRAY_AGENT_PRIVILEGES_FILE_COPY_H_

#include <string>

#include "agent/privileges/helper_protocol.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct FileCopy {
  HelperReply reply;
  UniqueFd fd;  // Not valid where only the facts were wanted, or with an error.
};

// Becomes the request's user for good, then copies the file behind `path_fd` (O_PATH) to a file
// without a name in `directory`, or in memory where that fails.
FileCopy CopyFileAsUser(const HelperRequest& request, int path_fd, const std::string& directory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_FILE_COPY_H_
