// What batches say about the host.
#ifndef STACKRAY_AGENT_HOST_FACTS_H_
#define STACKRAY_AGENT_HOST_FACTS_H_

#include <string>

namespace stackray {

struct HostFacts {
  std::string name;    // uname's node name.
  std::string id;      // /etc/machine-id; empty: none.
  std::string arch;    // "amd64", "arm64" (semantic conventions 1.44, host.arch).
  std::string kernel;  // uname's release.
};

HostFacts ReadHostFacts();

// Raises the soft limit of open files to the hard one: every executable of the open batch is held
// open.
void RaiseFileLimit();

}  // namespace stackray

#endif  // STACKRAY_AGENT_HOST_FACTS_H_
