// Giving up what a run of stackray does not need, in the right order: the readers' parent
// (kernel/foreign/) and the helper process are forked, capabilities are dropped, the list of system
// calls is loaded. Everything after it, loading BPF
// programs included, happens with what is left; so a reload at run time can do what the start
// could.
#ifndef STACKRAY_AGENT_PRIVILEGES_SANDBOX_H_
#define STACKRAY_AGENT_PRIVILEGES_SANDBOX_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/privileges/capability_set.h"
#include "agent/privileges/collector_client.h"
#include "agent/settings/settings.h"

namespace stackray {

// Of verbs without a state directory.
inline constexpr char kCopyDirectory[] = "/var/tmp";

struct SandboxOptions {
  SandboxMode mode = SandboxMode::kOn;
  CapabilitySet more;                      // Beyond what sampling needs.
  std::vector<std::string> output_paths;   // Files that are written later.
  std::string copy_directory;              // Of files that only their user may read.
  std::vector<CollectorEntry> collectors;  // Of reports.
};

// Must be called once, before there is a second thread. Where the kernel knows no such filter, or
// one of its limits stays, the run goes on with less: the returned lines say so.
// Errors: Internal, FailedPrecondition (capabilities could not be dropped).
absl::StatusOr<std::vector<std::string>> EnterSandbox(const SandboxOptions& options);

// Who runs the collectors; nullptr: there are none. Lives as long as the process.
const CollectorClient* TheCollectors();

// The nice value of one of our threads, by the helper's right where we have none.
// Errors: Unavailable (no helper), PermissionDenied (it may not either).
absl::Status SetThreadNice(pid_t tid, int nice);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SANDBOX_H_
