// The doctor's checks by subject. Each returns one finding or more, good ones included.
#ifndef STACKRAY_AGENT_DOCTOR_CHECKS_H_
#define STACKRAY_AGENT_DOCTOR_CHECKS_H_

#include "agent/doctor/doctor.h"
#include "agent/doctor/finding.h"
#include "agent/doctor/host_probe.h"

namespace stackray::doctor {

// A small kernel file without the line break at its end; empty when it cannot be read.
std::string ReadSetting(const HostProbe& host, const std::string& path);

// privilege_checks.cc: who we are, and what the kernel's own rules forbid even to root.
Findings CheckCapabilities(const HostProbe& host);
Findings CheckUserNamespace(const HostProbe& host);
Findings CheckPidNamespace(const HostProbe& host);
Findings CheckLockdown(const HostProbe& host);
Findings CheckPtraceScope(const HostProbe& host);
Findings CheckHiddenProcesses(const HostProbe& host);
Findings CheckPriority(const HostProbe& host);

// sampling_checks.cc: the kernel's version and the experiments.
Findings CheckKernel(const HostProbe& host);
Findings CheckBtf(const HostProbe& host);
Findings CheckClocks(const HostProbe& host);
Findings CheckPrograms(const HostProbe& host);
Findings CheckSampleRate(const HostProbe& host, int sample_rate_hz);

// environment_checks.cc: names, containers, where results go; settings people wrongly suspect.
Findings CheckKernelSymbols(const HostProbe& host);
Findings CheckControlGroups(const HostProbe& host);
Findings CheckUprobes(const HostProbe& host);
Findings CheckStateDirectory(const HostProbe& host, const std::string& folder);
Findings CheckPagePort(const HostProbe& host, uint16_t port);
Findings CheckHarmlessSettings(const HostProbe& host);

// settings_checks.cc: what the agent would read, and where profiles would go.
Findings CheckAgentSettings(const AgentSettingsFacts& settings);

}  // namespace stackray::doctor

#endif  // STACKRAY_AGENT_DOCTOR_CHECKS_H_
