// `stackray capture`: asks the running agent for captures, and writes their files.
//
// The agent's answers come from a process that has root's rights, yet are checked like any input.
// Threads: one.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_COMMAND_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_COMMAND_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "agent/captures/capture_requests.h"
#include "agent/control/control_message.h"
#include "agent/settings/settings.h"

namespace stackray {

// What a test puts in the place of the agent, of Ctrl-C and of the clock's second.
struct CaptureSurroundings {
  std::function<ControlAnswer(std::string_view request, const nlohmann::json& arguments)> ask;
  std::function<bool()> stop_requested;
  std::function<void(int ms)> sleep;
};

// The exit code: 0 done, 1 failed.
int RunCapture(const CaptureSettings& settings);
int RunCapture(const CaptureSettings& settings, const CaptureSurroundings& surroundings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_COMMAND_H_
