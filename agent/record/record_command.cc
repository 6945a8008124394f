#include "agent/record/record_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include "agent/host_facts.h"
#include "agent/privileges/sampling_needs.h"
#include "agent/privileges/sandbox.h"
#include "agent/privileges/thread_priority.h"
#include "agent/record/child_program.h"
#include "agent/record/empty_recording.h"
#include "agent/record/find_program.h"
#include "agent/record/program_watch.h"
#include "agent/record/record_outputs.h"
#include "agent/sampling/sampling_session.h"
#include "agent/sampling/session_settings.h"
#include "agent/sampling/targets.h"
#include "agent/say.h"
#include "agent/settings/command_line.h"
#include "agent/stop_signal.h"
#include "kernel/pid_namespace.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kExitFailed = 1, kExitSignal = 128;
constexpr int kTurnMs = 100;
constexpr uint64_t kNsPerMs = 1'000'000;

int Fail(const absl::Status& status) {
  SayError(std::string(status.message()));
  return absl::IsNotFound(status) ? kExitWrongUse : kExitFailed;
}

// One line on a terminal, rewritten every second; nothing elsewhere.
class Progress {
 public:
  explicit Progress(const RecordSettings& settings)
      : settings_(settings), on_terminal_(isatty(STDERR_FILENO) == 1 && !SaysJson()) {}

  // Loading takes the kernel a moment, in which CMD does not run yet.
  void Loading() {
    if (on_terminal_) fmt::print(stderr, "stackray: loading …");
  }

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

// The recording itself.
class Recording {
 public:
  Recording(const RecordSettings& settings, SamplingSession& session, ProgramWatch* program,
            Progress& progress)
      : settings_(settings), session_(session), program_(program), progress_(progress) {}

  void Run() {
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
  }
  uint64_t elapsed_ns() const { return elapsed_ns_; }

 private:
  bool IsOver(uint64_t elapsed_ns) {
    if (program_ == nullptr ? StopRequested() : program_->RecordingIsOver(BootTimeNs()))
      return true;
    if (AllTargetsEnded(settings_.target, session_.sampler())) return true;
    return settings_.duration_ms &&
           elapsed_ns >= static_cast<uint64_t>(*settings_.duration_ms) * kNsPerMs;
  }

  const RecordSettings& settings_;
  SamplingSession& session_;
  ProgramWatch* const program_;  // nullptr: no CMD.
  Progress& progress_;
  uint64_t elapsed_ns_ = 0;
};

// What the page and the terminal say where there is nothing to show.
std::string ReasonOfEmptiness(const RecordSettings& settings, const ProfileSummary& summary,
                              double seconds, bool program_ended) {
  if (summary.samples != 0) return "";
  EmptyRecording facts = LookAtTarget(settings.target, settings.sampling.frequency_hz, seconds);
  facts.lost = static_cast<uint64_t>(summary.lost);
  facts.program_ended = program_ended;
  return WhyEmpty(facts);
}

int WriteResults(RecordOutputs& outputs, const std::string& why_empty) {
  outputs.SetNote(why_empty);
  const absl::Status status = outputs.Finish();
  Say(FormatSummary(outputs.summary()) + outputs.GroupLine());
  if (!why_empty.empty()) Say("stackray: nothing was sampled: " + why_empty);
  if (!status.ok()) SayError(std::string(status.message()));
  if (!outputs.dropped().empty()) Say("stackray: " + outputs.dropped());
  for (const std::string& path : outputs.written()) Say(path);
  return status.ok() ? 0 : kExitFailed;
}

// From $PATH, as execvp() does it.
absl::Status CheckProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  return FindProgram(name, path != nullptr ? path : "/bin:/usr/bin");
}

struct Made {
  std::unique_ptr<ChildProgram> child;  // nullptr: no CMD.
  std::unique_ptr<ProgramWatch> program;
  std::optional<RecordOutputs> outputs;
  absl::Status batch_status;
  std::unique_ptr<SamplingSession> session;
};

// Forked before there is any thread.
absl::Status MakeProgram(const RecordSettings& settings, Made& made) {
  if (settings.target.kind != TargetKind::kProgram) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<ChildProgram>> forked = ChildProgram::Fork(
      settings.target.program, settings.target.as_root ? std::nullopt : settings.sudo_user);
  if (!forked.ok()) return forked.status();
  made.child = *std::move(forked);
  made.program = std::make_unique<ProgramWatch>(*made.child, settings.target.program.front());
  return absl::OkStatus();
}

// CMD, forked before, keeps its rights.
absl::Status GiveUpPrivileges(const RecordSettings& settings) {
  SandboxOptions options{
      .mode = settings.sandbox, .more = kRecordNeeds, .copy_directory = kCopyDirectory};
  for (const OutputFile& file : settings.outputs)
    if (!file.is_standard_output()) options.output_paths.push_back(file.path);
  if (settings.outputs.empty()) options.output_paths.push_back("./stackray.html");
  const absl::StatusOr<std::vector<std::string>> entered = EnterSandbox(options);
  if (!entered.ok()) return entered.status();
  for (const std::string& warning : *entered) SayWarning(warning);
  return absl::OkStatus();
}

absl::Status MakeSession(const RecordSettings& settings, Made& made) {
  absl::StatusOr<std::unique_ptr<SamplingSession>> session =
      SamplingSession::Create(MakeSessionSettings(settings.sampling, settings.target),
                              [&made](const SealedBatchPtr& batch) {
                                made.batch_status.Update(made.outputs->Add(batch->bytes));
                              });
  if (!session.ok()) return session.status();
  made.session = *std::move(session);
  return ApplyTarget(settings.target, made.session->sampler());
}

absl::Status MakeOutputs(const RecordSettings& settings, Made& made) {
  absl::StatusOr<RecordOutputs> outputs = RecordOutputs::Create(
      settings.outputs.empty() ? std::vector<OutputFile>{DefaultOutput(std::time(nullptr))}
                               : settings.outputs,
      settings.sudo_user,
      fmt::format("{} on {}", DescribeTarget(settings.target), ReadHostFacts().name));
  if (!outputs.ok()) return absl::UnavailableError(std::string(outputs.status().message()));
  made.outputs.emplace(*std::move(outputs));
  made.outputs->SetType(TypeOf(settings.sampling.types.front()).name,
                        RecordOutputs::MissingType::kIsEmpty);
  if (const auto grouping = SampleGrouping::Parse(settings.group_by); grouping)
    made.outputs->GroupBy(*grouping);
  return absl::OkStatus();
}

absl::Status Start(Made& made) {
  Sampler& sampler = made.session->sampler();
  if (made.child != nullptr) {
    if (absl::Status status =
            sampler.targets().AddPid(0, ChildPidInProc(static_cast<uint32_t>(made.child->pid())));
        !status.ok())
      return status;
  }
  return made.session->Start();
}

// All that can fail before the first sample.
absl::Status Prepare(const RecordSettings& settings, Progress& progress, Made& made) {
  if (absl::Status status = MakeProgram(settings, made); !status.ok()) return status;
  PreferThisThreadAlone();  // Behind the fork: CMD keeps the priority that it was started with.
  if (made.child == nullptr) PreferThisSession();
  progress.Loading();
  absl::Status status = GiveUpPrivileges(settings);
  if (status.ok()) status = MakeSession(settings, made);
  if (status.ok()) status = MakeOutputs(settings, made);
  if (status.ok()) status = Start(made);
  progress.Clear();
  return status;
}

// Samples, writes, and waits for CMD. Returns the exit code.
int Sample(const RecordSettings& settings, Progress& progress, Made& made) {
  Recording recording(settings, *made.session, made.program.get(), progress);
  const int64_t start_unix_ns = static_cast<int64_t>(BootTimeNs()) + WallOffsetNs();
  recording.Run();
  const auto elapsed_ns = static_cast<int64_t>(recording.elapsed_ns());
  made.outputs->SetTime(start_unix_ns, start_unix_ns + elapsed_ns);
  if (!made.batch_status.ok())
    SayError("a batch was damaged: " + std::string(made.batch_status.message()));
  const bool ended = made.child != nullptr
                         ? made.child->Poll().has_value()
                         : AllTargetsEnded(settings.target, made.session->sampler());
  const int written =
      WriteResults(*made.outputs, ReasonOfEmptiness(settings, made.outputs->summary(),
                                                    static_cast<double>(elapsed_ns) / 1e9, ended));
  made.session.reset();
  const int exit_code = made.program != nullptr ? made.program->WaitForEnd() : 0;
  return exit_code != 0 ? exit_code : written;
}

}  // namespace

int RunRecord(const RecordSettings& settings) {
  if (settings.target.kind == TargetKind::kProgram) {
    if (absl::Status status = CheckProgram(settings.target.program.front()); !status.ok()) {
      SayError(std::string(status.message()));
      return ExitCodeOfExec(status);
    }
  }
  Made made;
  Progress progress(settings);
  if (absl::Status status = Prepare(settings, progress, made); !status.ok()) return Fail(status);
  for (const std::string& warning : made.session->warnings()) SayWarning(warning);
  if (StopRequested()) {
    SayError("ended before it began to sample; nothing is written");
    return kExitSignal + SeenStopSignals().last;
  }
  if (made.child != nullptr) {
    if (absl::Status released = made.child->Release(); !released.ok()) {
      SayError(std::string(released.message()));
      return ExitCodeOfExec(released);
    }
  }
  return Sample(settings, progress, made);
}

}  // namespace stackray
