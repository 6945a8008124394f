#include "agent/reports/report_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "agent/captures/capture_spec.h"
#include "agent/dump/thread_stacks.h"
#include "agent/history/memory_history.h"
#include "agent/log.h"
#include "agent/privileges/sandbox.h"
#include "agent/reports/host_facts_of_report.h"
#include "agent/reports/report_log.h"
#include "agent/reports/report_requests.h"
#include "agent/sampling/session_settings.h"
#include "agent/settings/target_text.h"
#include "kernel/pid_namespace.h"
#include "kernel/wall_clock.h"
#include "reporter/batch_file.h"
#include "reporter/formats/text.h"
#include "reporter/shown_url.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kLookIntervalNs = 1'000 * kNsPerMs;
constexpr int64_t kMinutesBeforeMs = 10 * 60'000;
constexpr uint64_t kRecorderBytes = 16 << 20;
constexpr double kProfileHz = 99;
constexpr size_t kMostFailures = 16, kMostNames = 64, kMostMissed = 64, kMostToldMissed = 32,
                 kMostStackText = 512;
constexpr uint64_t kLastStackNs = 5'000 * kNsPerMs;  // Until then it is there, if ever.
constexpr char kLog[] = "reports";

std::shared_ptr<History> MakeRecorder() {
  return std::make_shared<MemoryHistory>(
      HistorySettings{.state_dir = {},
                      .max_bytes = kRecorderBytes,
                      .max_age_ms = kMinutesBeforeMs,
                      .memory_bytes = kRecorderBytes,
                      .now_ms = &SystemNowMs,
                      .steady_ms = [] { return static_cast<int64_t>(BootTimeNs() / kNsPerMs); }});
}

// User functions of the only thread, leaf first.
std::vector<std::string> NamesOf(const ProcessDump& dump) {
  std::vector<std::string> names;
  for (const ThreadStack& stack : StacksOf(dump))
    for (const StackFrame& frame : stack.frames)
      if (!frame.function.empty() && frame.type != "kernel" && names.size() < kMostNames)
        names.push_back(frame.function);
  return names;
}

TargetSettings TargetOf(const TriggerFiring& firing) {
  if (firing.pid == 0) return firing.target;
  return {.kind = TargetKind::kPids, .pids = {firing.pid}};
}

}  // namespace

ReportKeeper::ReportKeeper(std::string host_name, Links links)
    : host_name_(std::move(host_name)), links_(std::move(links)) {}
ReportKeeper::~ReportKeeper() { Finish(); }

void ReportKeeper::Configure(const AgentSettings& settings) {
  const bool are_triggers_new = settings_ != settings.reports;
  settings_ = settings.reports;
  if (state_dir_ != settings.state_dir) {
    Finish();
    state_dir_ = settings.state_dir;
    absl::StatusOr<std::unique_ptr<ReportStore>> store = ReportStore::Open(state_dir_);
    store_problem_ = store.ok() ? "" : std::string(store.status().message());
    store_ = store.ok() ? *std::move(store) : nullptr;
    limits_ = store_ == nullptr
                  ? nullptr
                  : std::make_unique<ReportLimits>(store_->directory(), kReportLockPath);
    if (store_ == nullptr) LogWarning("no reports: " + store_problem_, kLog);
  }
  if (!settings_.automatic) recorder_ = nullptr;
  if (settings_.automatic && recorder_ == nullptr) recorder_ = MakeRecorder();
  // They are fixed from the start on: an agent that was taken over cannot choose commands.
  const std::vector<CollectorEntry> of_start =
      TheCollectors() == nullptr ? std::vector<CollectorEntry>() : TheCollectors()->collectors();
  if (are_triggers_new && settings_.collectors != of_start)
    LogWarning("collectors are those of the agent's start: restart it for the new ones", kLog);
  if (are_triggers_new) {
    MakeTriggers();
    MakeUploader();
  }
}

// What waits on the disk from before goes to the new address.
void ReportKeeper::MakeUploader() {
  if (uploader_ != nullptr) {
    const ReportUploader::Counts before = uploader_->counts();
    status_.uploaded += before.uploaded;
    status_.upload_failures += before.failures;
  }
  uploader_ = nullptr;
  if (store_ == nullptr || settings_.upload.empty()) return;
  uploader_ = std::make_unique<ReportUploader>(
      store_->directory(),
      UploadSettings{.target = settings_.upload, .credentials_file = settings_.upload_credentials});
}

void ReportKeeper::MakeTriggers() {
  triggers_.clear();
  for (const ReportTriggerEntry& entry : settings_.triggers) {
    absl::StatusOr<std::unique_ptr<ReportTrigger>> trigger = MakeReportTrigger(entry, events_);
    if (!trigger.ok()) {
      LogWarning(fmt::format("{}: the trigger {} makes no reports: {}", entry.origin, entry.name,
                             std::string(trigger.status().message())),
                 kLog);
      continue;
    }
    triggers_.push_back({entry, *std::move(trigger)});
  }
  TakeLastStacks();
}

// Only where a trigger is there for them: their program takes seconds to load.
void ReportKeeper::TakeLastStacks() {
  const bool are_wanted = std::ranges::any_of(
      triggers_, [](const WantedTrigger& wanted) { return wanted.entry.kind == "signal"; });
  if (!are_wanted) return last_stacks_.End();
  if (session_ == nullptr) return;
  if (absl::Status status = last_stacks_.Begin(*session_); !status.ok())
    LogWarning("reports have no last stacks: " + std::string(status.message()), kLog);
}

void ReportKeeper::OnSealed(const SealedBatchPtr& batch) {
  if (recorder_ != nullptr && links_.history() == nullptr) recorder_->Append(batch).IgnoreError();
}

void ReportKeeper::BeginSession(SamplingSession& session) {
  session_ = &session;
  TakeLastStacks();
}

void ReportKeeper::EndSession() {
  if (running_ != nullptr) EndProfile(*running_);
  last_stacks_.End();
  session_ = nullptr;
}

void ReportKeeper::Finish() {
  if (running_ == nullptr) return;
  running_->exchange.Cancel();
  EndRunning();
}

ReportOrder ReportKeeper::OrderOf(const std::string& trigger, const TriggerFiring& firing,
                                  int64_t now_ms) {
  ReportOrder order{.settings = settings_,
                    .manifest = {},
                    .own_pid = OwnPidInProc(),
                    .collectors = TheCollectors()};
  order.manifest.name = ReportName(host_name_, now_ms, trigger);
  order.manifest.trigger = trigger;
  order.manifest.reason = firing.reason;
  order.manifest.host = host_name_;
  order.manifest.agent_version = kAgentVersion;
  order.manifest.unix_ms = now_ms;
  order.manifest.pid = firing.pid;
  if (last_stacks_.has_begun()) {
    order.manifest.ended_pid = firing.ended_pid;
    order.manifest.ended_tid = firing.ended_tid;
  }
  std::shared_ptr<History> history = links_.history();
  if (history == nullptr) history = recorder_;
  if (history != nullptr)
    order.history = [history, now_ms](const std::function<bool(std::string_view)>& visit) {
      history->Query(now_ms - kMinutesBeforeMs, now_ms, visit);
    };
  return order;
}

absl::StatusOr<std::string> ReportKeeper::Begin(const std::string& trigger,
                                                const TriggerFiring& firing, bool is_asked_for) {
  if (store_ == nullptr)
    return absl::FailedPreconditionError("reports have no place to be kept: " + store_problem_);
  if (session_ == nullptr)
    return absl::UnavailableError("the agent does not sample now: ask again");
  if (running_ != nullptr)
    return absl::ResourceExhaustedError(fmt::format("the report {} is being made", running_->name));
  TargetSettings target = TargetOf(firing);
  absl::StatusOr<IsMember> members = Members(firing.target);
  if (!members.ok() && is_asked_for) return members.status();
  if (!members.ok()) {  // A trigger's cgroup that is gone by now: the host is left.
    members = IsMember();
    target = {};
  }
  const int64_t now_ms = SystemNowMs();
  if (absl::Status status = limits_->Begin(settings_, trigger, is_asked_for, now_ms); !status.ok())
    return status;
  if (absl::Status status = store_->MakeRoom(settings_, 0, now_ms); !status.ok()) {
    limits_->End();
    return status;
  }
  store_->ClearWork();
  ReportOrder order = OrderOf(trigger, firing, now_ms);
  order.manifest.is_automatic = !is_asked_for;
  order.is_member = *std::move(members);
  if (order.is_member) {
    order.manifest.target = DescribeTarget(firing.target);
    order.manifest.is_target_claimed = IsClaimed(firing.target);
  }
  running_ = std::make_unique<Running>();
  Running& running = *running_;
  running.name = order.manifest.name;
  LogInfo(fmt::format("report {} begins: {}", running.name, firing.reason), kLog);
  const bool with_waits = MayLoadWaits();
  if (!with_waits)
    order.manifest.missing.push_back(
        {"waits in profile-now.otlp",
         fmt::format("left out: the CPU pressure is {:.0f} %", PressureOf("cpu"))});
  BeginProfile(running, target, with_waits);
  running.thread = std::thread([this, &running, order = std::move(order)]() mutable {
    running.result = ReportWork(std::move(order), *store_, running.exchange).Run();
    running.is_done = true;
  });
  return running.name;
}

absl::StatusOr<IsMember> ReportKeeper::Members(const TargetSettings& target) {
  return MembersOf(target, [this](std::string_view name) {
    std::set<uint32_t> pids;
    for (const ProcessTable::ServiceOf& service : session_->loop().process_table().Services())
      if (service.name == name) pids.insert(service.process.pid);
    return pids;
  });
}

// The first profile of waits loads programs, which holds the loop up for seconds of CPU: not where
// CPUs are short, unless they are loaded already.
bool ReportKeeper::MayLoadWaits() const {
  return session_->sampler().FollowsWaits() || PressureOf("cpu") <= settings_.pressure_percent;
}

void ReportKeeper::BeginProfile(Running& running, const TargetSettings& target, bool with_waits) {
  const std::string path = fmt::format("{}/{}", store_->work_directory(), kProfileNowFile);
  running.profile.reset(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const absl::StatusOr<int> capture = session_->StartCapture(
      {.name = running.name,
       .targets = {target},
       .types = with_waits ? std::vector{SampleOrigin::kCpuClock, SampleOrigin::kOffCpu}
                           : std::vector{SampleOrigin::kCpuClock},
       .frequency_hz = kProfileHz,
       .marks_service = settings_.send},
      [this, &running, send = settings_.send](const SealedBatchPtr& batch) {
        if (send) links_.send_profile(batch);
        if (running.profile.valid())
          BatchFileWriter(running.profile.get()).Append(batch->bytes).IgnoreError();
      });
  if (!capture.ok()) return running.exchange.EndProfile(capture.status());
  running.capture = *capture;
  // From here on: the first capture of waits has taken seconds to load its programs.
  running.capture_ends_ns = BootTimeNs() + static_cast<uint64_t>(settings_.profile_ms) * kNsPerMs;
}

void ReportKeeper::EndProfile(Running& running) {
  if (running.capture == 0) return;
  session_->EndCapture(std::exchange(running.capture, 0));
  running.profile.reset();
  running.exchange.EndProfile(absl::OkStatus());
}

// One process a turn, so that the ring is emptied in between.
void ReportKeeper::AnswerDump(Running& running) {
  const std::optional<AskedDump> asked = running.exchange.TakeAskedDump();
  if (!asked || session_ == nullptr) return;
  if (asked->last_tid != 0) return AnswerLastStack(running, *asked);
  const absl::StatusOr<ProcessDump> dump =
      session_->Dump(asked->pid, {.rounds = 3, .ticks = absl::Milliseconds(100)});
  if (!dump.ok()) return running.exchange.AnswerDump(dump.status());
  running.exchange.AnswerDump(DumpTexts{DumpText(*dump), DumpJson(*dump), {}});
}

// What is not there yet is looked for again at the next turn.
void ReportKeeper::AnswerLastStack(Running& running, AskedDump asked) {
  const std::optional<ProcessDump> dump = last_stacks_.Of(asked.pid, asked.last_tid);
  if (!dump) return running.exchange.PutBackAskedDump(asked);
  running.exchange.AnswerDump(DumpTexts{DumpText(*dump), DumpJson(*dump), NamesOf(*dump)});
}

void ReportKeeper::EndRunning() {
  EndProfile(*running_);
  if (running_->thread.joinable()) running_->thread.join();
  const absl::StatusOr<ReportManifest>& result = running_->result;
  if (result.ok()) {
    ++status_.made;
    status_.collectors_run += result->collectors_run;
    status_.collectors_failed += result->collectors_failed;
    if (settings_.send) Announce(*result);
    if (uploader_ != nullptr) uploader_->Add(running_->name);
    status_.last = running_->name;
    LogInfo(
        fmt::format("report {} is there: {}", store_->PathOf(running_->name), result->Summary()),
        kLog);
  } else {
    ++status_.failed;
    status_.last_failure = std::string(result.status().message());
    if (failures_.size() >= kMostFailures) failures_.erase(failures_.begin());
    failures_[running_->name] = status_.last_failure;
    LogWarning(fmt::format("report {} was given up: {}", running_->name, status_.last_failure),
               kLog);
  }
  running_.reset();
  limits_->End();
}

void ReportKeeper::Announce(const ReportManifest& manifest) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(store_->PathOf(manifest.name), error);
  links_.send_record(LogRecordOf(manifest, error ? 0 : bytes, ShownUrl(settings_.upload),
                                 SystemNowMs() * static_cast<int64_t>(kNsPerMs)));
}

void ReportKeeper::LookAtRunning(const TriggerMoment& now) {
  if (running_ == nullptr) return;
  if (running_->is_done) return EndRunning();
  if (running_->capture != 0 && now.boot_ns >= running_->capture_ends_ns) EndProfile(*running_);
  AnswerDump(*running_);
}

void ReportKeeper::LookAtTriggers(const TriggerMoment& now) {
  events_.Read();
  for (const WantedTrigger& wanted : triggers_)
    for (TriggerFiring& firing : wanted.trigger->Look(now)) {
      const absl::StatusOr<std::string> begun = Begin(wanted.entry.name, firing, false);
      if (begun.ok()) running_->is_routine = wanted.is_routine();
      if (!begun.ok()) Miss(wanted, std::move(firing), begun.status(), now);
    }
}

// What can be seen again is not kept, unless a timer's report stands before it.
void ReportKeeper::Miss(const WantedTrigger& wanted, TriggerFiring firing, const absl::Status& why,
                        const TriggerMoment& now) {
  const bool waits =
      running_ != nullptr && (firing.is_over || running_->is_routine) && !wanted.is_routine();
  if (waits && running_->is_routine && !running_->exchange.is_cancelled()) {
    LogInfo(fmt::format("report {} gives way to {}", running_->name, wanted.entry.name), kLog);
    running_->exchange.Cancel();
  }
  missed_.push_back({.trigger = wanted.entry.name,
                     .firing = std::move(firing),
                     .why_not = waits ? "" : std::string(why.message()),
                     .since_ns = now.boot_ns});
  if (missed_.size() <= kMostMissed) return;
  missed_.front().why_not = "too much happens at once";
  Suppress(missed_.front());
  missed_.pop_front();
}

void ReportKeeper::Suppress(const Missed& missed) {
  ++status_.suppressed;
  std::string text = fmt::format(
      "no report for {} ({}): {}{}{}", missed.trigger, missed.firing.reason, missed.why_not,
      missed.last_stack.empty() ? "" : "; its last stack: ", missed.last_stack);
  LogInfo(text, kLog);
  if (status_.missed.size() >= kMostToldMissed) status_.missed.erase(status_.missed.begin());
  status_.missed.push_back(std::move(text));
}

// " < "-separated, leaf first; empty: it is not there, or not yet.
std::string ReportKeeper::LastStackText(const TriggerFiring& firing) {
  const std::optional<ProcessDump> dump = last_stacks_.Of(firing.ended_pid, firing.ended_tid);
  std::string text;
  for (const std::string& name : dump ? NamesOf(*dump) : std::vector<std::string>())
    if (text.size() < kMostStackText) text += (text.empty() ? "" : " < ") + PrintableText(name);
  return text;
}

// Each makes a report when there is room for one, else it is counted, and said with its last stack.
void ReportKeeper::LookAtMissed(const TriggerMoment& now) {
  for (auto at = missed_.begin(); at != missed_.end();) {
    if (at->why_not.empty() && running_ == nullptr) {
      const absl::StatusOr<std::string> begun = Begin(at->trigger, at->firing, false);
      if (begun.ok()) {
        at = missed_.erase(at);
        continue;
      }
      at->why_not = std::string(begun.status().message());
    }
    // Soon: later others have taken its place.
    const bool may_come = at->last_stack.empty() && last_stacks_.has_begun() &&
                          at->firing.ended_tid != 0 && now.boot_ns < at->since_ns + kLastStackNs;
    if (may_come) at->last_stack = LastStackText(at->firing);
    if (at->why_not.empty() || (may_come && at->last_stack.empty())) {
      ++at;
      continue;
    }
    Suppress(*at);
    at = missed_.erase(at);
  }
}

void ReportKeeper::Look(const TriggerMoment& now) {
  LookAtRunning(now);
  if (now.boot_ns < next_look_ns_) return;
  next_look_ns_ = now.boot_ns + kLookIntervalNs;
  LookAtMissed(now);
  LookAtTriggers(now);
}

ControlAnswer ReportKeeper::AnswerStart(const ControlRequest& request) {
  const auto pid = request.arguments.find("pid"), trigger = request.arguments.find("trigger");
  TriggerFiring firing{.reason = fmt::format("asked for by user {}", request.peer.uid)};
  if (pid != request.arguments.end() && pid->is_number_unsigned())
    firing.pid = pid->get<uint32_t>();
  if (const auto target = request.arguments.find("target"); target != request.arguments.end()) {
    absl::StatusOr<TargetSettings> read = TargetFromJson(*target);
    if (!read.ok()) return read.status();
    firing.target = *std::move(read);
  }
  const std::string name = trigger != request.arguments.end() && trigger->is_string()
                               ? trigger->get<std::string>().substr(0, 64)
                               : "request";
  const absl::StatusOr<std::string> begun = Begin(name, firing, true);
  if (!begun.ok()) ++status_.suppressed;
  if (!begun.ok()) return begun.status();
  return nlohmann::ordered_json{{"name", *begun}};
}

ControlAnswer ReportKeeper::AnswerList() const {
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  if (store_ != nullptr)
    for (const StoredReport& report : store_->List())
      reports.push_back(
          {{"name", report.name}, {"bytes", report.bytes}, {"unix_ms", report.unix_ms}});
  const ReportUploader::Counts uploads =
      uploader_ == nullptr ? ReportUploader::Counts() : uploader_->counts();
  return nlohmann::ordered_json{{"reports", std::move(reports)},
                                {"running", running_ == nullptr ? "" : running_->name},
                                {"failed", failures_},
                                {"uploaded", uploads.uploaded},
                                {"upload_failures", uploads.failures},
                                {"last_upload_failure", uploads.last_failure}};
}

ControlAnswer ReportKeeper::Answer(const ControlRequest& request) {
  if (request.name == kReportListRequest) return AnswerList();
  if (request.name == kReportStartRequest) return AnswerStart(request);
  const auto name = request.arguments.find("name");
  if (store_ == nullptr || name == request.arguments.end() || !name->is_string())
    return absl::InvalidArgumentError("the request names no report: \"name\" is missing");
  if (absl::Status status = store_->Delete(name->get<std::string>()); !status.ok()) return status;
  return nlohmann::ordered_json{{"name", *name}};
}

ReportsStatus ReportKeeper::Status() const {
  ReportsStatus status = status_;
  if (running_ != nullptr) status.running = running_->name;
  if (uploader_ != nullptr) {
    const ReportUploader::Counts uploads = uploader_->counts();
    status.uploaded += uploads.uploaded;
    status.upload_failures += uploads.failures;
    status.last_upload_failure = uploads.last_failure;
  }
  if (store_ == nullptr) return status;
  for (const StoredReport& report : store_->List()) {
    ++status.stored;
    status.stored_bytes += report.bytes;
  }
  return status;
}

}  // namespace stackray
