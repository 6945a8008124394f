// From the command line's target to the sampler's filter.
#ifndef STACKRAY_AGENT_SAMPLING_TARGETS_H_
#define STACKRAY_AGENT_SAMPLING_TARGETS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "agent/settings/target_text.h"
#include "kernel/sampler.h"

namespace stackray {

// The capture samples this target, too. kProgram and kService are the caller's: it adds the pids.
// Errors: NotFound (no such process, cgroup or container; the text says which and how to find one).
absl::Status ApplyTarget(const TargetSettings& target, Sampler& sampler, int capture = 0);

// True when every target process of kPids has ended, with `inherit` their descendants too; false
// for other kinds. From the session's start on.
bool AllTargetsEnded(const TargetSettings& target, Sampler& sampler);

// Directory of the cgroup that a container's processes are in. Errors: NotFound.
absl::StatusOr<std::string> FindContainerCgroup(const std::string& container_id);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_TARGETS_H_
