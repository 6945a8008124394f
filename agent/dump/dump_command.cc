#include "agent/dump/dump_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "agent/dump/thread_stacks.h"
#include "agent/privileges/sandbox.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/say.h"
#include "agent/settings/command_line.h"

namespace stackray {
namespace {

int Fail(const absl::Status& status) {
  SayError(std::string(status.message()));
  return absl::IsNotFound(status) ? kExitWrongUse : 1;
}

absl::StatusOr<ProcessDump> Dump(const DumpSettings& settings, const TargetSettings& target) {
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
      MakeSessionSettings(settings.sampling, target), [](const SealedBatchPtr&) {});
  if (!session.ok()) return session.status();
  for (const std::string& warning : (*session)->warnings()) SayWarning(warning);
  if (absl::Status status = ApplyTarget(target, (*session)->sampler()); !status.ok()) return status;
  if (absl::Status status = (*session)->Start(); !status.ok()) return status;
  absl::StatusOr<ProcessDump> dump = (*session)->Dump(settings.pid, {});
  (*session)->Stop();
  return dump;
}

}  // namespace

int RunDump(const DumpSettings& settings) {
  struct stat facts = {};
  if (stat(fmt::format("/proc/{}", settings.pid).c_str(), &facts) != 0)
    return Fail(absl::NotFoundError(fmt::format("there is no process {}", settings.pid)));
  const TargetSettings target{.kind = TargetKind::kPids, .pids = {settings.pid}, .inherit = false};
  const absl::StatusOr<std::vector<std::string>> entered =
      EnterSandbox({.mode = settings.sandbox, .copy_directory = kCopyDirectory});
  if (!entered.ok()) return Fail(entered.status());
  for (const std::string& warning : *entered) SayWarning(warning);
  const absl::StatusOr<ProcessDump> dump = Dump(settings, target);
  if (!dump.ok()) return Fail(dump.status());
  fmt::print("{}", settings.json ? DumpJson(*dump) : DumpText(*dump));
  std::fflush(stdout);
  const bool is_whole = std::ranges::none_of(dump->threads, [](const DumpedThread& thread) {
    return thread.how == DumpedThread::How::kMissing;
  });
  return is_whole ? 0 : 1;
}

}  // namespace stackray
