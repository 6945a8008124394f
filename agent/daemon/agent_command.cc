#include "agent/daemon/agent_command.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "agent/control/control_client.h"
#include "agent/daemon/agent.h"
#include "agent/daemon/agent_requests.h"
#include "agent/daemon/receiver_plan.h"
#include "agent/daemon/report_logs.h"
#include "agent/daemon/status_json.h"
#include "agent/daemon/traces_plan.h"
#include "agent/log.h"
#include "agent/privileges/sandbox.h"
#include "agent/privileges/thread_priority.h"
#include "agent/say.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

constexpr int kExitFailed = 1, kExitWrongUse = 2;

using ReadSettings = std::function<absl::StatusOr<AgentSettings>()>;

int Fail(const absl::Status& status) {
  SayError(std::string(status.message()));
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitWrongUse : kExitFailed;
}

absl::Status Reload(Agent& agent, const ReadSettings& read_settings) {
  const int64_t began_unix_ns = agent.NowUnixNs();
  absl::StatusOr<AgentSettings> read = read_settings();
  const LogSettings log = read.ok() ? read->log : LogSettings();
  const absl::Status status = read.ok() ? agent.Reload(*std::move(read)) : read.status();
  agent.TraceReload(began_unix_ns, status.ok());
  if (status.ok()) {
    ChangeLog(log);
    LogInfo("settings reloaded");
  } else {
    LogError("settings not reloaded, the old ones stay: " + std::string(status.message()));
  }
  return status;
}

}  // namespace

int RunAgent(const AgentSettings& settings, const ReadSettings& reload) {
  absl::Status checked = PlanReceivers(settings).status();
  checked.Update(PlanTraces(settings).status());
  checked.Update(PlanReportLogs(settings).status());
  if (!checked.ok()) return Fail(checked);
  if (settings.check_config) return 0;
  PreferThisThreadAlone();
  if (PreferThisSession() == SessionPriority::kShared)
    LogInfo(
        "this host shares CPU time by session (kernel.sched_autogroup_enabled): start the agent as "
        "a service or by setsid, so that it keeps up where other sessions are busy");
  // Before there is a thread; a spool or a history whose folder is not root's is then a warning.
  absl::StatusOr<std::vector<std::string>> entered =
      EnterSandbox({.mode = settings.sandbox,
                    .copy_directory = settings.state_dir,
                    .collectors = settings.reports.collectors});
  if (!entered.ok()) return Fail(entered.status());
  for (const std::string& warning : *entered) LogWarning(warning);
  Agent agent(settings);
  if (absl::Status status = agent.Start(); !status.ok()) return Fail(status);
  constexpr unsigned kLongestTurnS = 3, kBesideFlushS = 15;
  EndUnlessTaken(kLongestTurnS);
  for (;;) {
    agent.Run();
    if (StopRequested()) break;
    TakeReload();
    agent.AnswerReloads(Reload(agent, reload));
  }
  // Profiles, traces and log records have a time to flush each.
  EndUnlessTaken(static_cast<unsigned>(3 * settings.flush_timeout_ms / 1000) + kBesideFlushS);
  agent.Finish();
  return 0;
}

int RunAgentStatus(const AgentSettings& settings) {
  const ControlAnswer status = AskAgent(settings.state_dir, kStatusRequest);
  if (!status.ok()) {
    SayError(std::string(status.status().message()));
    return kExitFailed;
  }
  fmt::print("{}", StatusText(*status));
  return 0;
}

}  // namespace stackray
