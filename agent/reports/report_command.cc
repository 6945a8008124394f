#include "agent/reports/report_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

#include "agent/captures/capture_spec.h"
#include "agent/control/control_client.h"
#include "agent/reports/report_requests.h"
#include "agent/reports/report_store.h"
#include "agent/say.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// The first profile of waits loads programs, which takes a busy host's agent some seconds.
constexpr std::chrono::seconds kLongestAnswer{30};
constexpr unsigned kAskEveryUs = 500'000;
constexpr int kMostAsks = 2 * 600;

int Fail(const absl::Status& status) {
  SayError(std::string(status.message()));
  return 1;
}

std::string PathOf(const ReportVerbSettings& settings, const std::string& name) {
  return fmt::format("{}/reports/{}{}", settings.state_dir, name, kReportEnding);
}

// The report has its name, or the agent says why not.
absl::Status Await(const ReportVerbSettings& settings, const std::string& name) {
  for (int i = 0; i < kMostAsks && !StopRequested(); ++i) {
    usleep(kAskEveryUs);
    const ControlAnswer answer =
        AskAgent(settings.state_dir, kReportListRequest, Json::object(), kLongestAnswer);
    if (!answer.ok()) return answer.status();
    const Json json(*answer);
    if (json.value("running", "") == name) continue;
    const Json failed = json.value("failed", Json::object());
    if (const auto why = failed.find(name); why != failed.end() && why->is_string())
      return absl::UnavailableError(why->get<std::string>());
    if (access(PathOf(settings, name).c_str(), F_OK) == 0) return absl::OkStatus();
    return absl::NotFoundError(fmt::format("the agent no longer has the report {}", name));
  }
  return absl::CancelledError(fmt::format("the agent goes on with the report {}", name));
}

int Start(const ReportVerbSettings& settings) {
  const ControlAnswer answer = AskAgent(
      settings.state_dir, kReportStartRequest,
      {{"pid", settings.pid}, {"target", ToJson(settings.target)}, {"trigger", settings.trigger}},
      kLongestAnswer);
  if (!answer.ok()) return Fail(answer.status());
  const std::string name = Json(*answer).value("name", "");
  if (!IsReportName(name)) return Fail(absl::UnavailableError("the answer names no report"));
  if (settings.wait)
    if (absl::Status status = Await(settings, name); !status.ok()) return Fail(status);
  fmt::print("{}\n", PathOf(settings, name));
  return 0;
}

int List(const ReportVerbSettings& settings) {
  const ControlAnswer answer =
      AskAgent(settings.state_dir, kReportListRequest, Json::object(), kLongestAnswer);
  if (!answer.ok()) return Fail(answer.status());
  const Json json(*answer);
  for (const Json& report : json.value("reports", Json::array()))
    fmt::print("{}\t{}\n", report.value("name", ""), report.value("bytes", uint64_t{0}));
  if (const std::string running = json.value("running", ""); !running.empty())
    fmt::print("{}\tbeing made\n", running);
  return 0;
}

// Needs no agent: the file is there.
int Get(const ReportVerbSettings& settings) {
  if (!IsReportName(settings.name))
    return Fail(absl::InvalidArgumentError(settings.name + " is no report's name"));
  const std::string to =
      settings.output.empty() ? settings.name + std::string(kReportEnding) : settings.output;
  std::error_code error;
  fs::copy_file(PathOf(settings, settings.name), to, error);
  if (error) return Fail(absl::UnavailableError(fmt::format("{}: {}", to, error.message())));
  if (settings.sudo_user && geteuid() == 0 &&
      lchown(to.c_str(), settings.sudo_user->uid, settings.sudo_user->gid) != 0)
    SayWarning(fmt::format("{} stays root's: {}", to, strerror(errno)));
  fmt::print("{}\n", to);
  return 0;
}

int Delete(const ReportVerbSettings& settings) {
  const ControlAnswer answer =
      AskAgent(settings.state_dir, kReportDeleteRequest, {{"name", settings.name}}, kLongestAnswer);
  return answer.ok() ? 0 : Fail(answer.status());
}

}  // namespace

int RunReport(const ReportVerbSettings& settings) {
  switch (settings.action) {
    case ReportAction::kStart: return Start(settings);
    case ReportAction::kList: return List(settings);
    case ReportAction::kGet: return Get(settings);
    case ReportAction::kDelete: return Delete(settings);
  }
  return 1;
}

}  // namespace stackray
