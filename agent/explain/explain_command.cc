#include "agent/explain/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "agent/explain/explanation.h"
#include "agent/explain/thread_work.h"
#include "agent/privileges/sandbox.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/say.h"
#include "agent/settings/command_line.h"
#include "agent/stop_signal.h"
#include "interpreters/jit/jit_file.h"
#include "kernel/foreign/foreign_reads.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kExitFailed = 1;
constexpr int kTurnMs = 100;
constexpr uint64_t kNsPerMs = 1'000'000;

int Fail(const absl::Status& status) {
  SayError(std::string(status.message()));
  return absl::IsNotFound(status) ? kExitWrongUse : kExitFailed;
}

std::string CommandOf(uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string command;
  std::getline(file, command);
  return command;
}

std::string CommandLineOf(uint32_t pid) {
  constexpr size_t kMostBytes = 64 << 10;
  std::string text = ReadForeignText(pid, "cmdline", kMostBytes);
  std::ranges::replace(text, '\0', ' ');
  return text;
}

// In its own root, by its number in its own pid namespace.
std::string PerfMapPlaceOf(uint32_t pid) {
  const std::optional<JitFileOwner> owner = ReadJitFileOwner(pid);
  const uint32_t inner = owner ? owner->inner_pid : pid;
  return fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, inner);  // Shown, not opened.
}

// Samples until the time is up, the process ends or Ctrl-C; returns for how long.
double Sample(const ExplainSettings& settings, const TargetSettings& target,
              SamplingSession& session) {
  const uint64_t start = BootTimeNs();
  const uint64_t end = start + static_cast<uint64_t>(settings.duration_ms) * kNsPerMs;
  while (BootTimeNs() < end && !StopRequested() && !AllTargetsEnded(target, session.sampler()))
    session.Turn(kTurnMs);
  const double seconds = static_cast<double>(BootTimeNs() - start) * 1e-9;
  session.Stop();
  return seconds;
}

}  // namespace

int RunExplain(const ExplainSettings& settings) {
  TargetSettings target{.kind = TargetKind::kPids, .pids = {settings.pid}, .inherit = false};
  Explanation explanation{.pid = settings.pid,
                          .symbols = settings.sampling.symbols,
                          .asks_debuginfod = !settings.sampling.debuginfod_urls.empty()};
  const absl::StatusOr<std::vector<std::string>> entered =
      EnterSandbox({.mode = settings.sandbox, .copy_directory = kCopyDirectory});
  if (!entered.ok()) return Fail(entered.status());
  for (const std::string& warning : *entered)
    fmt::print(stderr, "stackray: warning: {}\n", warning);
  absl::Status batch_status;
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
      MakeSessionSettings(settings.sampling, target), [&](const SealedBatchPtr& batch) {
        const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(batch->bytes);
        batch_status.Update(walk.status());
        if (walk.ok()) explanation.sampled.Add(*walk);
      });
  if (!session.ok()) return Fail(session.status());
  for (const std::string& warning : (*session)->warnings()) SayWarning(warning);
  if (absl::Status status = ApplyTarget(target, (*session)->sampler()); !status.ok())
    return Fail(status);
  explanation.command = CommandOf(settings.pid);
  explanation.command_line = CommandLineOf(settings.pid);
  explanation.perf_map_place = PerfMapPlaceOf(settings.pid);
  absl::StatusOr<MappedCode> code = ExamineProcess(settings.pid);
  if (!code.ok()) SayWarning("what it maps cannot be read, so nothing is said of files");
  if (absl::Status status = (*session)->Start(); !status.ok()) return Fail(status);
  explanation.seconds = Sample(settings, target, **session);
  if (!batch_status.ok()) return Fail(batch_status);
  // Once more: what was loaded meanwhile counts too.
  if (absl::StatusOr<MappedCode> later = ExamineProcess(settings.pid); later.ok()) code = later;
  if (code.ok()) explanation.code = *std::move(code);
  const SessionCounts counts = (*session)->Counts();
  explanation.guessed = counts.loop.guessed;
  explanation.jit = counts.frames.jit;
  ThreadWork work{.is_off = settings.sampling.context == "off",
                  .finding = std::nullopt,
                  .counted = (*session)->sampler().Counters()};
  if (const auto* finding = (*session)->ContextsOf(settings.pid)) work.finding = *finding;
  fmt::print("{}{}", RenderExplanation(explanation), RenderThreadWork(work));
  return 0;
}

}  // namespace stackray
