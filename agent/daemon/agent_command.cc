#include "agent/daemon/agent_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/daemon/agent.h"
#include "agent/daemon/receiver.h"
#include "agent/log.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

constexpr int kExitFailed = 1, kExitWrongUse = 2;

using ReadSettings = std::function<absl::StatusOr<AgentSettings>()>;

int Fail(const absl::Status& status) {
  fmt::print(stderr, "stackray: {}\n", std::string(status.message()));
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitWrongUse : kExitFailed;
}

// What can be known to be wrong without starting anything.
absl::Status CheckReceiver(const AgentSettings& settings) {
  if (!settings.receiver_configured) return absl::OkStatus();
  return ReceiverSettingsOf(settings).status();
}

// Until there are new settings, which come back, or the end. Wrong ones are logged.
std::optional<AgentSettings> RunUntilReload(Agent& agent, const ReadSettings& reload) {
  for (;;) {
    agent.Run();
    if (StopRequested()) return std::nullopt;
    TakeReload();
    absl::StatusOr<AgentSettings> read = reload();
    absl::Status status = read.status();
    if (status.ok()) status = CheckReceiver(*read);
    if (status.ok()) return *std::move(read);
    LogError("settings not reloaded, the old ones stay: " + std::string(status.message()));
  }
}

}  // namespace

int RunAgent(const AgentSettings& settings, const ReadSettings& reload) {
  const absl::Status checked = CheckReceiver(settings);
  if (!checked.ok()) return Fail(checked);
  if (settings.check_config) return 0;
  AgentSettings current = settings;
  std::optional<AgentSettings> previous;  // Those that worked, after a reload.
  for (;;) {
    auto agent = std::make_unique<Agent>(current);
    if (absl::Status status = agent->Start(); !status.ok()) {
      if (!previous) return Fail(status);
      LogError("the new settings do not work, back to the old ones: " +
               std::string(status.message()));
      current = *std::exchange(previous, std::nullopt);
      continue;
    }
    std::optional<AgentSettings> next = RunUntilReload(*agent, reload);
    agent->Finish();
    if (!next) return 0;
    LogInfo("settings reloaded");
    previous = std::exchange(current, *std::move(next));
  }
}

}  // namespace stackray
