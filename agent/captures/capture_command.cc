#include "agent/captures/capture_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "agent/captures/capture_record.h"
#include "agent/captures/capture_result.h"
#include "agent/captures/capture_spec.h"
#include "agent/captures/capture_table.h"
#include "agent/control/control_client.h"
#include "agent/say.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

constexpr int kExitFailed = 1;
// A busy host's agent may take seconds to begin, above all the first capture of waits.
constexpr std::chrono::seconds kLongestAnswer{30};
constexpr int kSliceMs = 100, kAskEveryMs = 1000;
// How long an agent may be away (a restart) or a stopped capture take to end.
constexpr int kMostSilentAsks = 30, kMostAsksAfterStop = 15;

int Fail(const absl::Status& status) {
  const std::string text(status.message());
  SayError(absl::IsNotFound(status) && text.starts_with("no agent")
               ? text + "; stackray record needs no agent"
               : text);
  return kExitFailed;
}

absl::StatusOr<std::vector<CaptureRecord>> AskList(const CaptureSurroundings& surroundings) {
  const ControlAnswer answer = surroundings.ask(kCaptureListRequest, Json::object());
  if (!answer.ok()) return answer.status();
  const Json json(*answer);
  const auto list = json.find("captures");
  if (!json.is_object() || list == json.end() || !list->is_array())
    return absl::UnavailableError("the agent's list of captures is not understood");
  std::vector<CaptureRecord> records;
  for (const Json& element : *list) {
    absl::StatusOr<CaptureRecord> record = CaptureRecordFromJson(element);
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
  }
  return records;
}

// The text of a key of an answer; empty: it has none.
std::string TextIn(const nlohmann::ordered_json& answer, const char* key) {
  const auto found = answer.is_object() ? answer.find(key) : answer.end();
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

// One line on a terminal, rewritten at each Show(); nothing elsewhere.
class Progress {
 public:
  Progress() : on_terminal_(isatty(STDERR_FILENO) == 1 && !SaysJson()) {}
  void Show(const CaptureRecord& record) {
    if (!on_terminal_) return;
    constexpr double kNsPerSecond = 1e9;
    fmt::print(stderr, "\r\033[Kstackray: capture {} · {:.0f} of {:.0f} s · {} samples",
               record.spec.name,
               static_cast<double>(record.updated_unix_ns - record.started_unix_ns) / kNsPerSecond,
               static_cast<double>(record.ends_unix_ns - record.started_unix_ns) / kNsPerSecond,
               record.samples);
  }
  void Clear() {
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  const bool on_terminal_;
};

// Waits for the end of a capture that has begun.
class Waiting {
 public:
  Waiting(const CaptureSurroundings& surroundings, std::string name)
      : surroundings_(surroundings), name_(std::move(name)) {}

  // Its record when it is over. Errors: Unavailable (the agent is away or does not end it), and
  // what the agent says.
  absl::StatusOr<CaptureRecord> Run() {
    for (;;) {
      Sleep();
      if (absl::Status status = StopIfAsked(); !status.ok()) return status;
      const absl::StatusOr<std::optional<CaptureRecord>> record = Look();
      if (!record.ok()) return record.status();
      if (*record && !(*record)->is_running()) return **record;
      if (is_stopped_ && ++asks_after_stop_ > kMostAsksAfterStop)
        return absl::UnavailableError(fmt::format("the agent does not end the capture {}", name_));
    }
  }

 private:
  void Sleep() {
    for (int ms = 0; ms < kAskEveryMs; ms += kSliceMs) {
      if (!is_stopped_ && surroundings_.stop_requested()) return;
      surroundings_.sleep(kSliceMs);
    }
  }

  absl::Status StopIfAsked() {
    if (is_stopped_ || !surroundings_.stop_requested()) return absl::OkStatus();
    is_stopped_ = true;
    progress_.Clear();
    const absl::Status status = surroundings_.ask(kCaptureStopRequest, {{"name", name_}}).status();
    // One that ended by itself meanwhile cannot be stopped: its record says so.
    const bool has_ended = absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
    return has_ended ? absl::OkStatus() : status;
  }

  // nullopt: the agent is away for a moment.
  absl::StatusOr<std::optional<CaptureRecord>> Look() {
    const absl::StatusOr<std::vector<CaptureRecord>> list = AskList(surroundings_);
    progress_.Clear();
    if (!list.ok()) {
      const bool is_away = absl::IsUnavailable(list.status()) || absl::IsNotFound(list.status());
      if (!is_away || ++silent_asks_ > kMostSilentAsks) return list.status();
      return std::nullopt;
    }
    silent_asks_ = 0;
    for (const CaptureRecord& record : *list) {
      if (record.spec.name != name_) continue;
      if (record.is_running()) progress_.Show(record);
      return record;
    }
    return absl::NotFoundError(fmt::format("the agent no longer has the capture {}", name_));
  }

  const CaptureSurroundings& surroundings_;
  const std::string name_;
  Progress progress_;
  bool is_stopped_ = false;
  int silent_asks_ = 0, asks_after_stop_ = 0;
};

std::string HowToGet(const std::string& name) {
  return fmt::format("\"stackray capture get {} -o FILE\"", name);
}

CaptureSpec SpecOf(const CaptureSettings& settings) {
  CaptureSpec spec;
  spec.name = settings.name;
  spec.targets = settings.targets;
  spec.types = settings.types;
  spec.frequency_hz = settings.frequency_hz;
  spec.duration_ms = settings.duration_ms;
  spec.send = settings.send;
  return spec;
}

// The name that the agent has given it.
absl::StatusOr<std::string> Begin(const CaptureSpec& spec,
                                  const CaptureSurroundings& surroundings) {
  const ControlAnswer answer =
      surroundings.ask(kCaptureStartRequest, {{"capture", Json(ToJson(spec))}});
  if (!answer.ok()) return answer.status();
  std::string name = TextIn(*answer, "name");
  if (!CheckCaptureName(name).ok())
    return absl::UnavailableError("the agent's answer names no capture");
  return name;
}

int Start(const CaptureSettings& settings, const CaptureSurroundings& surroundings) {
  const CaptureSpec spec = SpecOf(settings);
  std::optional<CaptureResult> result;
  if (settings.wait) {
    // Before the capture, so that a path that cannot be written costs nothing.
    absl::StatusOr<CaptureResult> made = CaptureResult::Create(settings, DescribeTargets(spec));
    if (!made.ok()) return Fail(made.status());
    result.emplace(*std::move(made));
  }
  const absl::StatusOr<std::string> name = Begin(spec, surroundings);
  if (!name.ok()) return Fail(name.status());
  if (!settings.wait) {
    Say(fmt::format("capture {} has begun; {} writes it", *name, HowToGet(*name)));
    return 0;
  }
  const absl::StatusOr<CaptureRecord> record = Waiting(surroundings, *name).Run();
  if (!record.ok()) {
    SayError(fmt::format("{}; {} writes what there is", std::string(record.status().message()),
                         HowToGet(*name)));
    return kExitFailed;
  }
  return result->Write(*record) ? 0 : kExitFailed;
}

int List(const CaptureSurroundings& surroundings) {
  const absl::StatusOr<std::vector<CaptureRecord>> list = AskList(surroundings);
  if (!list.ok()) return Fail(list.status());
  if (SaysJson()) {
    for (const CaptureRecord& record : *list)
      fmt::print("{}\n", ToJson(record).dump(-1, ' ', true, Json::error_handler_t::replace));
    return 0;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  fmt::print("{}", CaptureTable(*list, std::chrono::nanoseconds(now).count()));
  return 0;
}

int Stop(const CaptureSettings& settings, const CaptureSurroundings& surroundings) {
  const ControlAnswer answer = surroundings.ask(kCaptureStopRequest, {{"name", settings.name}});
  if (!answer.ok()) return Fail(answer.status());
  Say(fmt::format("capture {} is stopped; {} writes it", settings.name, HowToGet(settings.name)));
  return 0;
}

// Needs no agent: the files are there.
int Get(const CaptureSettings& settings) {
  const absl::StatusOr<CaptureRecord> record = ReadCaptureRecord(settings.state_dir, settings.name);
  if (!record.ok()) return Fail(record.status());
  absl::StatusOr<CaptureResult> result =
      CaptureResult::Create(settings, DescribeTargets(record->spec));
  if (!result.ok()) return Fail(result.status());
  return result->Write(*record) ? 0 : kExitFailed;
}

}  // namespace

int RunCapture(const CaptureSettings& settings) {
  return RunCapture(
      settings,
      {.ask =
           [&](std::string_view request, const Json& arguments) {
             return AskAgent(settings.state_dir, request, arguments, kLongestAnswer);
           },
       .stop_requested = StopRequested,
       .sleep = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }});
}

int RunCapture(const CaptureSettings& settings, const CaptureSurroundings& surroundings) {
  switch (settings.action) {
    case CaptureAction::kStart: return Start(settings, surroundings);
    case CaptureAction::kList: return List(surroundings);
    case CaptureAction::kStop: return Stop(settings, surroundings);
    case CaptureAction::kGet: return Get(settings);
  }
  return kExitFailed;
}

}  // namespace stackray
