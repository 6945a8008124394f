#include "agent/record/record_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>

#include "agent/host_facts.h"
#include "agent/record/child_program.h"
#include "agent/record/record_outputs.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/settings/command_line.h"
#include "agent/stop_signal.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kExitFailed = 1;
constexpr int kTurnMs = 100;
constexpr uint64_t kNsPerMs = 1'000'000;

int Fail(const absl::Status& status) {
  fmt::print(stderr, "stackray: {}\n", std::string(status.message()));
  return absl::IsNotFound(status) ? kExitWrongUse : kExitFailed;
}

// One line on a terminal, rewritten every second; nothing elsewhere.
class Progress {
 public:
  explicit Progress(const RecordSettings& settings)
      : settings_(settings), on_terminal_(isatty(STDERR_FILENO) == 1) {}

  void Show(uint64_t elapsed_ns, uint64_t samples) {
    if (!on_terminal_ || elapsed_ns < next_ns_) return;
    next_ns_ = elapsed_ns + 1'000'000'000;
    const std::string end = settings_.duration_ms
                                ? fmt::format(" of {:.0f} s", *settings_.duration_ms / 1000.0)
                                : " s, Ctrl-C ends";
    fmt::print(stderr, "\r\033[Kstackray: {:.0f}{} · {} samples", elapsed_ns / 1e9, end, samples);
  }
  void Clear() {
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  const RecordSettings& settings_;
  const bool on_terminal_;
  uint64_t next_ns_ = 0;
};

// The recording itself. Returns CMD's exit code, or 0.
class Recording {
 public:
  Recording(const RecordSettings& settings, SamplingSession& session, ChildProgram* child)
      : settings_(settings), session_(session), child_(child), progress_(settings) {}

  int Run() {
    const uint64_t start = BootTimeNs();
    uint64_t next_seal =
        start + static_cast<uint64_t>(settings_.sampling.seal_interval_ms) * kNsPerMs;
    for (uint64_t now = start; !IsOver(now - start); now = BootTimeNs()) {
      session_.Turn(kTurnMs);
      progress_.Show(now - start, session_.loop().counts().samples);
      if (now < next_seal) continue;
      next_seal = now + static_cast<uint64_t>(settings_.sampling.seal_interval_ms) * kNsPerMs;
      session_.Seal();
    }
    session_.Stop();
    elapsed_ns_ = BootTimeNs() - start;
    progress_.Clear();
    return child_ == nullptr ? 0 : child_->Poll().value_or(0);
  }
  uint64_t elapsed_ns() const { return elapsed_ns_; }

 private:
  bool IsOver(uint64_t elapsed_ns) {
    if (StopRequested()) return true;
    if (child_ != nullptr && child_->Poll()) return true;
    if (AllTargetsEnded(settings_.target, session_.sampler())) return true;
    return settings_.duration_ms &&
           elapsed_ns >= static_cast<uint64_t>(*settings_.duration_ms) * kNsPerMs;
  }

  const RecordSettings& settings_;
  SamplingSession& session_;
  ChildProgram* const child_;
  Progress progress_;
  uint64_t elapsed_ns_ = 0;
};

int WriteResults(RecordOutputs& outputs) {
  const absl::Status status = outputs.Finish();
  fmt::print(stderr, "{}", FormatSummary(outputs.summary()));
  if (!status.ok()) fmt::print(stderr, "stackray: {}\n", std::string(status.message()));
  std::fflush(stderr);
  for (const std::string& path : outputs.written()) fmt::print(stderr, "{}\n", path);
  return status.ok() ? 0 : kExitFailed;
}

}  // namespace

int RunRecord(const RecordSettings& settings) {
  const std::vector<OutputFile> files =
      settings.outputs.empty() ? std::vector<OutputFile>{DefaultOutput(std::time(nullptr))}
                               : settings.outputs;
  const std::optional<SudoUser> no_user;
  std::unique_ptr<ChildProgram> child;
  if (settings.target.kind == TargetKind::kProgram) {  // Forked before there is any thread.
    absl::StatusOr<std::unique_ptr<ChildProgram>> forked = ChildProgram::Fork(
        settings.target.program, settings.target.as_root ? no_user : settings.sudo_user);
    if (!forked.ok()) return Fail(forked.status());
    child = *std::move(forked);
  }
  std::optional<RecordOutputs> outputs;
  absl::Status batch_status;
  absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
      MakeSessionSettings(settings.sampling, settings.target),
      [&](const SealedBatchPtr& batch) { batch_status.Update(outputs->Add(batch->bytes)); });
  if (!session.ok()) return Fail(session.status());
  for (const std::string& warning : (*session)->warnings())
    fmt::print(stderr, "stackray: warning: {}\n", warning);
  if (absl::Status status = ApplyTarget(settings.target, (*session)->sampler()); !status.ok())
    return Fail(status);
  absl::StatusOr<RecordOutputs> opened = RecordOutputs::Create(
      files, settings.sudo_user,
      fmt::format("{} on {}", DescribeTarget(settings.target), ReadHostFacts().name));
  if (!opened.ok()) {
    fmt::print(stderr, "stackray: {}\n", std::string(opened.status().message()));
    return kExitFailed;
  }
  outputs = *std::move(opened);
  if (child) {
    if (absl::Status status =
            (*session)->sampler().AddTargetPid(static_cast<uint32_t>(child->pid()));
        !status.ok())
      return Fail(status);
  }
  if (absl::Status status = (*session)->Start(); !status.ok()) return Fail(status);
  if (child) {
    if (absl::Status status = child->Release(); !status.ok()) {
      fmt::print(stderr, "stackray: {}\n", std::string(status.message()));
      return kExitWrongUse;
    }
  }
  Recording recording(settings, **session, child.get());
  const int64_t start_unix_ns = static_cast<int64_t>(BootTimeNs()) + WallOffsetNs();
  const int exit_code = recording.Run();
  outputs->SetTime(start_unix_ns, start_unix_ns + static_cast<int64_t>(recording.elapsed_ns()));
  if (!batch_status.ok())
    fmt::print(stderr, "stackray: a batch was damaged: {}\n", std::string(batch_status.message()));
  const int written = WriteResults(*outputs);
  return exit_code != 0 ? exit_code : written;
}

}  // namespace stackray
