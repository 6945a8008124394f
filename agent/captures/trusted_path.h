// May only root change what a path leads to? sshd's rule for authorized_keys, for files that make
// the agent do something.
#ifndef STACKRAY_AGENT_CAPTURES_TRUSTED_PATH_H_
#define STACKRAY_AGENT_CAPTURES_TRUSTED_PATH_H_

#include <string>

#include "absl/status/status.h"

namespace stackray {

// OK: what `path` leads to, all directories on the way and all links that are followed belong to
// root or to the user of this process, and neither group nor others may write them. A directory on
// the way that is sticky may be writable, as /tmp is: others cannot rename what is there. On a
// mount that is read-only, as a Kubernetes ConfigMap's is, writable for everybody means nothing.
// `path` is absolute. Threads: any.
// Errors: FailedPrecondition (what is wrong, in a sentence), NotFound, Unavailable.
absl::Status OnlyRootChanges(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_TRUSTED_PATH_H_
