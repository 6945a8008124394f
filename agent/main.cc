// stackray: the command line's verbs.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>

#include "agent/captures/capture_command.h"
#include "agent/daemon/agent_command.h"
#include "agent/daemon/receiver_plan.h"
#include "agent/daemon/traces_plan.h"
#include "agent/doctor/doctor.h"
#include "agent/doctor/live_host_probe.h"
#include "agent/doctor/render.h"
#include "agent/dump/dump_command.h"
#include "agent/explain/explain_command.h"
#include "agent/file_commands.h"
#include "agent/host_facts.h"
#include "agent/log.h"
#include "agent/privileges/core_dumps.h"
#include "agent/record/record_command.h"
#include "agent/reports/report_command.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/small_heap.h"
#include "agent/say.h"
#include "agent/settings/command_line.h"
#include "agent/stop_signal.h"
#include "agent/view_command.h"
#include "kernel/sampler.h"
#include "reporter/export/probe.h"
#include "reporter/export/transport.h"
#include "reporter/shown_url.h"

namespace stackray {
namespace {

// As they were written: "memory 256MiB, BPF memory 128MiB, CPU 50%".
std::string BudgetsOf(const std::vector<EffectiveSetting>& settings) {
  constexpr std::pair<std::string_view, std::string_view> kBudgets[] = {
      {"memory-budget", "memory"}, {"bpf-memory-budget", "BPF memory"}, {"cpu-budget", "CPU"}};
  std::string text;
  for (const auto& [key, name] : kBudgets)
    for (const EffectiveSetting& setting : settings)
      if (setting.key == key)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                            setting.value == "0" ? "without a bound" : setting.value);
  return text;
}

// What an agent that is started here would read.
DoctorOptions OptionsOfAgent(const DoctorSettings& settings) {
  std::vector<std::string> arguments = {"agent"};
  if (!settings.config_path.empty())
    arguments.insert(arguments.end(), {"--config", settings.config_path});
  DoctorOptions options;
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments, ReadEnvironment(environ));
  if (!line.ok()) {
    options.settings.error = std::string(line.status().message());
    return options;
  }
  const AgentSettings& agent = std::get<AgentSettings>(line->verb);
  options.state_directory = agent.state_dir;
  if (agent.listen.port != 0) options.page_port = agent.listen.port;
  options.settings.warnings = line->warnings;
  options.settings.budgets = BudgetsOf(line->effective);
  const absl::StatusOr<std::vector<ReceiverPlan>> plans = PlanReceivers(agent);
  if (!plans.ok()) options.settings.error = std::string(plans.status().message());
  if (const absl::Status traces = PlanTraces(agent).status(); plans.ok() && !traces.ok())
    options.settings.error = std::string(traces.message());
  constexpr std::chrono::seconds kLongest{3};
  for (size_t i = 0; plans.ok() && i < plans->size(); ++i) {
    const ReceiverStrings& strings = agent.receivers[i];
    options.settings.receivers.push_back(
        {.address =
             fmt::format("{} ({})", ShownUrl(strings.endpoint), strings.origins.at("endpoint")),
         .problem =
             Probe(*MakeTransport((*plans)[i].settings), TraitsOf(Signal::kProfiles), kLongest)
                 .message});
  }
  return options;
}

// Runtimes whose walk this kernel's verifier refuses: the sampler is loaded for a moment, as the
// agent loads it. Where it cannot be loaded at all, other findings say why.
void AddLeftOutRuntimes(Findings* findings) {
  const absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::Create({});
  if (!sampler.ok()) return;
  for (const std::string& name : RuntimeNames((*sampler)->left_out_runtimes()))
    findings->push_back(ProgramRefused(name, fmt::format("frames of {} are not shown", name),
                                       absl::FailedPreconditionError("its verifier"),
                                       (*sampler)->warnings().front()));
}

int RunDoctor(const DoctorSettings& settings) {
  const LiveHostProbe host;
  Findings findings = Examine(host, OptionsOfAgent(settings));
  if (SamplingPossible(findings)) AddLeftOutRuntimes(&findings);
  const bool utf8 =
      LocaleIsUtf8(std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG"));
  fmt::print("{}", RenderText(findings, {.utf8 = utf8}));
  return SamplingPossible(findings) ? 0 : 1;
}

struct RunVerb {
  const CommandLine& command;
  std::function<absl::StatusOr<AgentSettings>()> reload;

  int operator()(const HelpRequest& help) const {
    fmt::print("{}", help.text);
    return 0;
  }
  int operator()(const VersionRequest&) const {
    fmt::print("stackray {}\n", kAgentVersion);
    return 0;
  }
  int operator()(const RecordSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunRecord(settings);
  }
  int operator()(const AgentSettings& settings) const {
    if (settings.show_status) return RunAgentStatus(settings);
    if (settings.check_config) fmt::print("{}", DescribeSettings(command.effective));
    WatchStopSignals(HangUp::kReloads);
    return RunAgent(settings, reload);
  }
  int operator()(const CheckSettings& settings) const { return RunCheck(settings); }
  int operator()(const ConvertSettings& settings) const { return RunConvert(settings); }
  int operator()(const ExplainSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunExplain(settings);
  }
  int operator()(const CaptureSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunCapture(settings);
  }
  int operator()(const ViewSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunView(settings);
  }
  int operator()(const ReportVerbSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunReport(settings);
  }
  int operator()(const DumpSettings& settings) const {
    WatchStopSignals(HangUp::kStops);
    return RunDump(settings);
  }
  int operator()(const DoctorSettings& settings) const { return RunDoctor(settings); }
};

int Main(int argc, char** argv) {
  ForbidCoreDumps();
  KeepHeapSmall();
  const auto parse = [&] { return ParseCommandLine(argc, argv, ReadEnvironment(environ)); };
  const absl::StatusOr<CommandLine> command = parse();
  if (!command.ok()) {
    ChooseSayFormat(EarlyLogFormat(argc, argv, ReadEnvironment(environ)));
    SayError(std::string(command.status().message()));
    return kExitWrongUse;
  }
  ChooseSayFormat(command->log.format);
  for (const std::string& warning : command->warnings) SayWarning(warning);
  InitLog(command->log);
  IgnoreBrokenPipes();
  RaiseFileLimit();
  const auto reload = [&]() -> absl::StatusOr<AgentSettings> {
    absl::StatusOr<CommandLine> again = parse();
    if (!again.ok()) return again.status();
    for (const std::string& warning : again->warnings) LogWarning(warning);
    return std::get<AgentSettings>(again->verb);
  };
  return std::visit(RunVerb{*command, reload}, command->verb);
}

}  // namespace
}  // namespace stackray

int main(int argc, char** argv) { return stackray::Main(argc, argv); }
