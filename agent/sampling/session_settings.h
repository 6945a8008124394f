// From the user's settings to a session's.
#ifndef STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_
#define STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_

#include "agent/sampling/sampling_session.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr char kAgentVersion[] = STACKRAY_VERSION;

SessionSettings MakeSessionSettings(const SamplingSettings& sampling, const TargetSettings& target);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SESSION_SETTINGS_H_
