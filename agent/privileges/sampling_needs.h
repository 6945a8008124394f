// Which capabilities a run needs.
// Threads: call them from the only thread: some lower the effective set to try what is possible.
#ifndef STACKRAY_AGENT_PRIVILEGES_SAMPLING_NEEDS_H_
#define STACKRAY_AGENT_PRIVILEGES_SAMPLING_NEEDS_H_

#include <span>
#include <string>

#include "agent/privileges/capability_set.h"

namespace stackray {

// What sampling needs on every host. The doctor says what each is for
// (agent/doctor/privilege_checks.cc).
inline constexpr CapabilitySet kSamplingNeeds{
    Capability::kBpf,           Capability::kPerfmon, Capability::kSysPtrace,
    Capability::kDacReadSearch, Capability::kSyslog,  Capability::kCheckpointRestore};
// Beyond that for `record`: results that belong to the user who called sudo, signals for CMD.
inline constexpr CapabilitySet kRecordNeeds{Capability::kChown, Capability::kKill};

// kSamplingNeeds, with CAP_SYS_ADMIN where kernel.perf_event_paranoid is above 2 and the kernel
// opens no counter without it: Debian's and Ubuntu's patch asks for it.
CapabilitySet NeedsOfThisHost();

// CAP_DAC_OVERRIDE and CAP_FOWNER where one of these files lies in another user's folder or is
// another user's file, which root writes by these rights alone; otherwise nothing.
CapabilitySet NeedsOfOutputs(std::span<const std::string> paths, CapabilitySet others);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SAMPLING_NEEDS_H_
