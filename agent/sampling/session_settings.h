// From the user's settings to a session's.
#ifndef STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_
#define STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_

#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr char kAgentVersion[] = STACKRAY_VERSION;

// The ring, halved until it takes at most a quarter of the budget (0: none); 256 KiB at least.
uint32_t RingBytesWithin(uint32_t ring_bytes, uint64_t bpf_budget_bytes);

SessionSettings MakeSessionSettings(const SamplingSettings& sampling, const TargetSettings& target);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_
