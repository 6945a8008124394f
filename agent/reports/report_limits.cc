#include "agent/reports/report_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/history/whole_file.h"
#include "agent/reports/bounded_read.h"

namespace stackray {
namespace {

constexpr int64_t kDayMs = 86'400'000;
constexpr size_t kMostBytes = 1 << 20, kMostMade = 10'000;
constexpr char kName[] = "made.json", kNewName[] = "made.json.part";

}  // namespace

ReportLimits::ReportLimits(std::string directory, std::string lock_path)
    : directory_(std::move(directory)), lock_path_(std::move(lock_path)) {
  Read();
}

// Anything that makes no sense counts as nothing: the other bounds hold all the same.
void ReportLimits::Read() {
  const std::string text =
      ReadBounded(fmt::format("{}/{}", directory_, kName), kMostBytes).value_or("");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return;
  for (const nlohmann::json& element : json) {
    if (made_.size() >= kMostMade || !element.is_object()) return;
    const auto trigger = element.find("trigger"), time = element.find("unix_ms");
    if (trigger == element.end() || time == element.end() || !trigger->is_string() ||
        !time->is_number_integer())
      continue;
    made_.push_back({trigger->get<std::string>(), time->get<int64_t>()});
  }
}

void ReportLimits::Write() const {
  nlohmann::json json = nlohmann::json::array();
  for (const Made& made : made_)
    json.push_back({{"trigger", made.trigger}, {"unix_ms", made.unix_ms}});
  const UniqueFd directory(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid())
    WriteWholeFile(directory.get(), kName, kNewName,
                   json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

// A time in the future (the clock was set back) counts as now.
absl::Status ReportLimits::Check(const ReportSettings& settings, std::string_view trigger,
                                 int64_t now_unix_ms) const {
  if (made_.size() >= settings.most_a_day)
    return absl::ResourceExhaustedError(
        fmt::format("{} reports were made within a day", made_.size()));
  for (const Made& made : made_) {
    const int64_t age_ms = std::max<int64_t>(now_unix_ms - made.unix_ms, 0);
    if (made.trigger == trigger && age_ms < settings.distance_ms)
      return absl::ResourceExhaustedError(
          fmt::format("the last report for {} was {} s ago", trigger, age_ms / 1000));
  }
  return absl::OkStatus();
}

absl::Status ReportLimits::Lock() {
  if (lock_.valid()) return absl::ResourceExhaustedError("this agent is making a report");
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd file(open(lock_path_.c_str(), kFlags, 0600));
  if (!file.valid()) file.reset(open(fmt::format("{}/lock", directory_).c_str(), kFlags, 0600));
  if (!file.valid())
    return absl::UnavailableError(fmt::format("no file to lock: {}", strerror(errno)));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::ResourceExhaustedError("another agent of this host is making a report");
  lock_ = std::move(file);
  return absl::OkStatus();
}

absl::Status ReportLimits::Begin(const ReportSettings& settings, std::string_view trigger,
                                 bool is_asked_for, int64_t now_unix_ms) {
  std::erase_if(made_, [&](const Made& made) { return now_unix_ms - made.unix_ms >= kDayMs; });
  if (!is_asked_for)
    if (absl::Status status = Check(settings, trigger, now_unix_ms); !status.ok()) return status;
  if (absl::Status status = Lock(); !status.ok()) return status;
  if (is_asked_for) return absl::OkStatus();
  made_.push_back({std::string(trigger), now_unix_ms});
  Write();
  return absl::OkStatus();
}

void ReportLimits::End() { lock_.reset(); }

}  // namespace stackray
