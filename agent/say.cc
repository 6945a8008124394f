#include "agent/say.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

std::atomic<bool> g_json = false;

// As the log's: 2026-01-31T17:45:02.123+01:00.
std::string TimeText() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  const long minutes = local.tm_gmtoff / 60;
  char day[32] = {};
  std::strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &local);
  return fmt::format("{}.{:03}{}{:02}:{:02}", day, ms, minutes < 0 ? '-' : '+',
                     std::abs(minutes) / 60, std::abs(minutes) % 60);
}

void Write(std::string_view level, std::string_view prefix, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (!g_json) {
    fmt::print(stderr, "{}{}\n", prefix, PrintableLines(text));
    std::fflush(stderr);
    return;
  }
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","message":)", TimeText(), level);
  AppendJsonString(text, &line);
  fmt::print(stderr, "{}}}\n", line);
  std::fflush(stderr);
}

}  // namespace

void ChooseSayFormat(LogFormat format) { g_json = format == LogFormat::kJson; }
bool SaysJson() { return g_json; }

void SayError(std::string_view text) { Write("error", "stackray: ", text); }
void SayWarning(std::string_view text) { Write("warning", "stackray: warning: ", text); }

void Say(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Write("info", "", line);
  }
}

}  // namespace stackray
