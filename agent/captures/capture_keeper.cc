#include "agent/captures/capture_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agent/captures/capture_spans.h"
#include "agent/log.h"
#include "kernel/cpu_list.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kLookIntervalNs = 1'000 * kNsPerMs;
// A batch of a capture that samples no waits: what a SIGKILL would take along.
constexpr uint64_t kSealIntervalNs = 5'000 * kNsPerMs;

void Warn(const absl::Status& status) {
  if (!status.ok()) LogWarning(std::string(status.message()), "captures");
}

std::string TypesText(const CaptureSpec& spec) {
  std::string text;
  for (const SampleOrigin type : spec.types)
    text += fmt::format("{}{}", text.empty() ? "" : ",", TypeOf(type).name);
  return text;
}

// What a name is made of where nobody gave one.
std::string WordFor(const TargetSettings& target) {
  switch (target.kind) {
    case TargetKind::kWholeHost: return "host";
    case TargetKind::kPids: return fmt::format("pid-{}", target.pids.front());
    case TargetKind::kCgroup: return std::filesystem::path(target.cgroup_path).filename().string();
    case TargetKind::kContainer: return target.container_id.substr(0, 12);
    case TargetKind::kCommandName: return target.command_name;
    case TargetKind::kUser: return fmt::format("user-{}", target.uid);
    case TargetKind::kService: return target.service_name;
    case TargetKind::kLabel: return target.label;
    case TargetKind::kProgram: break;
  }
  return "capture";
}

absl::StatusOr<std::string> NameIn(const nlohmann::json& arguments) {
  const auto name = arguments.find("name");
  if (name == arguments.end() || !name->is_string())
    return absl::InvalidArgumentError("the request names no capture: \"name\" is missing");
  return name->get<std::string>();
}

}  // namespace

int64_t CaptureKeeper::WallNs() { return static_cast<int64_t>(BootTimeNs()) + WallOffsetNs(); }

void CaptureKeeper::Configure(const AgentSettings& settings) {
  allowed_ = settings.allow_captures;
  max_duration_ms_ = settings.capture_max_duration_ms;
  if (pace_.max_rate() != settings.capture_max_rate) pace_.SetMaxRate(settings.capture_max_rate);
  const CaptureLimits limits{.bytes = settings.capture_bytes, .age_ms = settings.capture_age_ms};
  if (store_ != nullptr) store_->SetLimits(limits);
  if (state_dir_ != settings.state_dir) {
    state_dir_ = settings.state_dir;
    EndAll("state-dir changed");
    std::vector<std::string> warnings;
    absl::StatusOr<std::unique_ptr<CaptureStore>> store =
        CaptureStore::Open(state_dir_, limits, {}, warnings);
    for (const std::string& warning : warnings) LogWarning(warning, "captures");
    store_problem_ = store.ok() ? "" : std::string(store.status().message());
    store_ = store.ok() ? *std::move(store) : nullptr;
    if (store_ == nullptr) LogWarning("no captures: " + store_problem_, "captures");
    Resume();
  }
  if (flags_ == nullptr || flags_dir_ != settings.captures_dir ||
      flags_configured_ != settings.captures) {
    flags_dir_ = settings.captures_dir;
    flags_configured_ = settings.captures;
    flags_ = std::make_unique<CaptureFlags>(settings.captures_dir, settings.captures, host_name_);
  }
  if (!allowed_) EndAll("allow-captures is false");
  if (session_ != nullptr) BeginSession(*session_);
}

// What an earlier agent left: it goes on for the rest of its time, in the next session.
void CaptureKeeper::Resume() {
  if (store_ == nullptr) return;
  for (const CaptureRecord& record : store_->Unfinished()) {
    const int64_t left_ns = record.ends_unix_ns - WallNs();
    if (left_ns <= 0 || !allowed_) {
      Warn(store_->Finish(record.spec.name, kReasonAgentEnded));
      EndSpan(tracer_, record, record.updated_unix_ns, kReasonAgentEnded);
      continue;
    }
    const absl::StatusOr<CaptureGap> gap = store_->Resume(record.spec.name);
    if (!gap.ok()) {
      Warn(gap.status());
      continue;
    }
    // A clock that was set back does not make it longer than it was to be.
    const int64_t most_ns = record.spec.duration_ms * static_cast<int64_t>(kNsPerMs);
    running_.push_back({.spec = record.spec,
                        .flag = record.flag,
                        .ends_ns = BootTimeNs() + static_cast<uint64_t>(std::min(left_ns, most_ns)),
                        .ends_unix_ns = record.ends_unix_ns,
                        .frequency_hz = static_cast<double>(record.spec.frequency_hz),
                        .span = record.span});
    LogInfo(fmt::format("capture {} goes on, {:.0f} s after the agent ended", record.spec.name,
                        static_cast<double>(gap->to_unix_ns - gap->from_unix_ns) / 1e9),
            "captures");
  }
}

void CaptureKeeper::BeginSession(SamplingSession& session) {
  session_ = &session;
  session.sampler().SetCaptureBudget(pace_.max_rate());
  for (auto it = running_.begin(); it != running_.end();) {
    const auto running = it++;
    if (running->number != 0) continue;
    if (absl::Status status = StartInSession(*running); !status.ok()) {
      End(running, std::string(status.message()));
      continue;
    }
    if (running->paused_ns == 0 || store_ == nullptr) continue;
    const auto gap_ns = static_cast<int64_t>(BootTimeNs() - std::exchange(running->paused_ns, 0));
    const int64_t now = WallNs();
    Warn(store_->NoteGap(running->spec.name, {.from_unix_ns = now - gap_ns, .to_unix_ns = now}));
  }
}

void CaptureKeeper::EndSession() {
  if (session_ == nullptr) return;
  for (Running& running : running_) {
    if (running.number == 0) continue;
    running.before.Add(session_->EndCapture(running.number));
    running.number = 0;
    running.paused_ns = BootTimeNs();
    if (store_ != nullptr)
      store_->Update(running.spec.name, ProgressOf(running, running.before)).IgnoreError();
  }
  session_ = nullptr;
}

absl::Status CaptureKeeper::StartInSession(Running& running) {
  absl::StatusOr<int> number = session_->StartCapture(
      {.name = running.spec.name,
       .targets = running.spec.targets,
       .types = running.spec.types,
       .frequency_hz = running.frequency_hz,
       .marks_service = running.spec.send},
      [this, &running](const SealedBatchPtr& batch) { OnSealed(running, batch); });
  if (!number.ok()) return number.status();
  running.number = *number;
  return absl::OkStatus();
}

// Called from within the session: what has to end ends in Look().
void CaptureKeeper::OnSealed(Running& running, const SealedBatchPtr& batch) {
  if (store_ != nullptr && running.end_reason.empty()) {
    const absl::Status status = store_->Append(running.spec.name, batch->bytes);
    if (absl::IsResourceExhausted(status))
      running.end_reason = kReasonFull;
    else if (!status.ok())
      running.end_reason = std::string(status.message());
  }
  if (store_ == nullptr || !running.end_reason.empty())
    running.not_stored += batch->samples - batch->lost_samples;
  if (running.spec.send) send_(batch, running.span);
}

absl::Status CaptureKeeper::Refused() const {
  if (!allowed_)
    return absl::FailedPreconditionError(
        "this agent's configuration refuses captures (allow-captures: false)");
  if (store_ == nullptr)
    return absl::FailedPreconditionError("captures have no place to be kept: " + store_problem_);
  if (session_ == nullptr)
    return absl::UnavailableError("the agent does not sample now: ask again");
  if (running_.size() >= static_cast<size_t>(kMostCaptures)) {
    std::string names;
    for (const Running& running : running_)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", running.spec.name);
    return absl::ResourceExhaustedError(
        fmt::format("{} captures run already, and more cannot: {}. `stackray capture stop NAME` "
                    "ends one.",
                    kMostCaptures, names));
  }
  return absl::OkStatus();
}

std::string CaptureKeeper::NameFor(const CaptureSpec& spec) const {
  std::string name = spec.targets.empty() ? "capture" : WordFor(spec.targets.front());
  for (char& c : name)
    if (!CheckCaptureName(std::string_view(&c, 1)).ok() && c != '.') c = '-';
  name = name.substr(0, 40);
  while (!name.empty() && (name.front() == '.' || name.front() == '-')) name.erase(0, 1);
  if (!CheckCaptureName(name).ok()) name = "capture";
  return store_->FreeName(name);
}

absl::StatusOr<CaptureKeeper::Running*> CaptureKeeper::Start(CaptureSpec spec, std::string flag) {
  const std::string asked_by = spec.asked_by, name = spec.name;
  absl::StatusOr<Running*> started = TryToStart(std::move(spec), std::move(flag));
  if (started.ok()) {
    ++started_;
  } else {
    ++refused_;
    LogWarning(fmt::format("{} is refused: {}; asked for by {}",
                           name.empty() ? "a capture" : "capture " + name,
                           std::string(started.status().message()), asked_by),
               "captures");
  }
  return started;
}

absl::StatusOr<CaptureKeeper::Running*> CaptureKeeper::TryToStart(CaptureSpec spec,
                                                                  std::string flag) {
  if (absl::Status status = Refused(); !status.ok()) return status;
  if (spec.name.empty()) spec.name = NameFor(spec);
  if (absl::Status status = CheckCapture(spec, max_duration_ms_); !status.ok()) return status;
  const int64_t now = WallNs();
  const int64_t ends = now + spec.duration_ms * static_cast<int64_t>(kNsPerMs);
  const SpanIds span = tracer_ == nullptr ? SpanIds() : tracer_->NewTrace();
  if (absl::Status status = store_->Begin(spec, now, ends, span, flag); !status.ok()) return status;
  running_.push_back({.spec = spec,
                      .flag = std::move(flag),
                      .ends_ns = BootTimeNs() + static_cast<uint64_t>(spec.duration_ms) * kNsPerMs,
                      .ends_unix_ns = ends,
                      .frequency_hz = RateOf(spec),
                      .span = span});
  Running& running = running_.back();
  if (absl::Status status = StartInSession(running); !status.ok()) {
    // Nothing was sampled: its name is free again.
    store_->Finish(spec.name, kReasonRefused).IgnoreError();
    store_->Remove(spec.name).IgnoreError();
    running_.pop_back();
    return status;
  }
  LogInfo(fmt::format("capture {} of {} begins: {} at {} Hz for {} s, asked for by {}", spec.name,
                      DescribeTargets(spec), TypesText(spec), spec.frequency_hz,
                      spec.duration_ms / 1000, spec.asked_by),
          "captures");
  return &running;
}

void CaptureKeeper::EndAll(std::string_view reason) {
  for (auto it = running_.begin(); it != running_.end();) End(it++, reason);
}

void CaptureKeeper::End(RunningList::iterator running, std::string_view reason) {
  if (running->number != 0) running->before.Add(session_->EndCapture(running->number));
  const CaptureCounts& counts = running->before;
  // A batch at the very end may have met the limit.
  const std::string why = running->end_reason.empty() ? std::string(reason) : running->end_reason;
  const CaptureProgress progress = ProgressOf(*running, counts);
  if (store_ != nullptr) Warn(store_->Finish(running->spec.name, why, progress));
  if (const CaptureRecord* record = store_ == nullptr ? nullptr : store_->Find(running->spec.name))
    EndSpan(tracer_, *record, WallNs(), why);
  ended_.Add(counts);
  LogInfo(
      fmt::format("capture {} ended ({}): {} samples produced, {} kept, {} lost; asked for by {}",
                  running->spec.name, why, counts.produced, progress.samples,
                  counts.lost() + counts.sealed - progress.samples, running->spec.asked_by),
      "captures");
  if (!running->flag.empty()) done_flags_.insert(running->flag);
  running_.erase(running);
}

CaptureProgress CaptureKeeper::ProgressOf(const Running& running, const CaptureCounts& counts) {
  const uint64_t not_stored = std::min(running.not_stored, counts.sealed);
  CaptureProgress progress{.samples = counts.sealed - not_stored, .lost = {}};
  if (not_stored != 0) progress.lost["not stored"] = not_stored;
  if (counts.ring_full != 0) progress.lost["ring full"] = counts.ring_full;
  if (counts.scratch_busy != 0) progress.lost["scratch busy"] = counts.scratch_busy;
  if (counts.over_budget != 0) progress.lost["capture budget"] = counts.over_budget;
  return progress;
}

CaptureCounts CaptureKeeper::CountsOf(const Running& running) const {
  CaptureCounts counts = running.before;
  if (running.number == 0) return counts;
  const CaptureCounts now = session_->captures().Counts(running.number);
  counts.Add(now);
  counts.in_flight = now.in_flight;
  counts.frequency_hz = now.frequency_hz;
  return counts;
}

void CaptureKeeper::Look(uint64_t now_ns) {
  if (session_ == nullptr) return;
  const bool is_time = now_ns >= next_look_ns_;
  FollowFlags(is_time);
  for (auto it = running_.begin(); it != running_.end();) {
    const auto running = it++;
    if (now_ns >= running->ends_ns) {
      End(running, kReasonFinished);
    } else if (!running->end_reason.empty()) {
      End(running, running->end_reason);
    } else if (is_time && session_->captures().TargetsEnded(running->number)) {
      End(running, "its processes have ended");
    }
  }
  if (!is_time) return;
  next_look_ns_ = now_ns + kLookIntervalNs;
  const bool seals = now_ns >= next_seal_ns_;
  if (seals) next_seal_ns_ = now_ns + kSealIntervalNs;
  CaptureCounts sum = ended_;
  for (Running& running : running_) {
    if (seals) session_->captures().Seal(running.number);
    const CaptureCounts counts = CountsOf(running);
    if (store_ != nullptr) Warn(store_->Update(running.spec.name, ProgressOf(running, counts)));
    sum.Add(counts);
  }
  KeepPace(now_ns, sum);
  if (store_ == nullptr) return;
  // What fails was said when it failed first, and is tried again at the next look.
  store_->WriteLateRecords().IgnoreError();
  store_->Trim();
}

// `sum`: of all captures that there were.
void CaptureKeeper::KeepPace(uint64_t now_ns, const CaptureCounts& sum) {
  const absl::StatusOr<std::vector<int>> cpus = OnlineCpus();
  const int count = cpus.ok() && !cpus->empty() ? static_cast<int>(cpus->size()) : 1;
  if (pace_.Look(now_ns, sum.produced, sum.over_budget, count)) SetRates();
}

void CaptureKeeper::GiveWay(int level) {
  if (std::exchange(level_, level) != level) SetRates();
}

// That it samples at now, of what was asked for.
double CaptureKeeper::RateOf(const CaptureSpec& spec) const {
  return std::max(1.0, static_cast<double>(spec.frequency_hz) * pace_.factor() / (1 << level_));
}

void CaptureKeeper::SetRates() {
  if (session_ == nullptr) return;
  for (Running& running : running_) {
    const double wanted = RateOf(running.spec);
    const bool ticks = HasType(running.spec.types, SampleOrigin::kCpuClock);
    if (!ticks || running.number == 0 || wanted == running.frequency_hz) continue;
    const absl::Status status = session_->captures().SetFrequency(running.number, wanted);
    if (!status.ok()) {
      running.end_reason = std::string(status.message());
      continue;
    }
    LogInfo(fmt::format("capture {} samples at {:.4g} Hz instead of {:.4g}: {}", running.spec.name,
                        wanted, running.frequency_hz,
                        level_ > 0 ? "the agent's CPU budget" : "capture-max-rate"),
            "captures");
    running.frequency_hz = wanted;
  }
}

ControlAnswer CaptureKeeper::Answer(const ControlRequest& request) {
  if (request.name == kCaptureStartRequest) return AnswerStart(request);
  if (request.name == kCaptureStopRequest) return AnswerStop(request);
  return AnswerList();
}

ControlAnswer CaptureKeeper::AnswerStart(const ControlRequest& request) {
  const auto capture = request.arguments.find("capture");
  if (capture == request.arguments.end())
    return absl::InvalidArgumentError("the request has no \"capture\"");
  absl::StatusOr<CaptureSpec> spec = CaptureFromJson(*capture);
  if (!spec.ok()) return spec.status();
  spec->asked_by = fmt::format("uid {}", request.peer.uid);
  const absl::StatusOr<Running*> started = Start(*std::move(spec), "");
  if (!started.ok()) return started.status();
  return nlohmann::ordered_json{{"name", (*started)->spec.name},
                                {"ends_unix_ns", (*started)->ends_unix_ns}};
}

ControlAnswer CaptureKeeper::AnswerStop(const ControlRequest& request) {
  const absl::StatusOr<std::string> name = NameIn(request.arguments);
  if (!name.ok()) return name.status();
  const auto running = std::ranges::find(
      running_, *name, [](const Running& one) -> const std::string& { return one.spec.name; });
  if (running == running_.end()) {
    if (store_ != nullptr && store_->Find(*name) != nullptr)
      return absl::FailedPreconditionError(
          fmt::format("capture {} has ended already. `stackray capture get {} -o FILE` writes it.",
                      *name, *name));
    return absl::NotFoundError(
        fmt::format("no capture {}. `stackray capture list` shows those that there are.", *name));
  }
  End(running, kReasonStopped);
  return nlohmann::ordered_json{{"name", *name}, {"file", CaptureStore::FileOf(state_dir_, *name)}};
}

// "captures" is what their records say; "now" is what only the running agent knows.
ControlAnswer CaptureKeeper::AnswerList() const {
  auto captures = nlohmann::ordered_json::array(), now = nlohmann::ordered_json::object();
  if (store_ != nullptr)
    for (const CaptureRecord& record : store_->List()) captures.push_back(ToJson(record));
  for (const Running& running : running_)
    now[running.spec.name] = {{"produced", CountsOf(running).produced},
                              {"frequency_hz", running.frequency_hz}};
  return nlohmann::ordered_json{{"captures", std::move(captures)}, {"now", std::move(now)}};
}

CapturesStatus CaptureKeeper::Status() const {
  CapturesStatus status{
      .running = {}, .started = started_, .refused = refused_, .ended = ended_, .problems = {}};
  if (store_ != nullptr) status.file_bytes = store_->bytes();
  for (const Running& running : running_)
    status.running.push_back({.name = running.spec.name,
                              .target = DescribeTargets(running.spec),
                              .asked_by = running.spec.asked_by,
                              .frequency_hz = running.frequency_hz,
                              .asked_hz = static_cast<double>(running.spec.frequency_hz),
                              .ends_unix_ns = running.ends_unix_ns,
                              .counts = CountsOf(running)});
  if (flags_ != nullptr)
    for (const CaptureFlagProblem& problem : flags_->Problems())
      status.problems.push_back({problem.file, problem.text});
  for (const auto& [key, problem] : waiting_flags_)
    status.problems.push_back({problem.file, problem.text});
  return status;
}

}  // namespace stackray
