// Which processes a report's target has, by what /proc says of each.
// Threads: the result from any; MembersOf() from the agent's loop.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_TARGET_H_
#define STACKRAY_AGENT_REPORTS_REPORT_TARGET_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

using IsMember = std::function<bool(uint32_t pid)>;

// `of_service`: the processes of a service, by its name. The result is empty for the whole host.
// Errors: InvalidArgument (a label, a program), NotFound (no such cgroup or container).
absl::StatusOr<IsMember> MembersOf(
    const TargetSettings& target,
    const std::function<std::set<uint32_t>(std::string_view)>& of_service);

// Is one of the cgroups in /proc/PID/cgroup's `text` this directory, or below it? A directory has
// no slash at its end.
bool IsInCgroup(std::string_view text, std::string_view directory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_TARGET_H_
