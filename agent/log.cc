#include "agent/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/log_limiter.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

std::atomic<bool> g_json = false;
std::mutex g_mutex;
LogLimiter g_limiter;  // Guarded by g_mutex.

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// spdlog's pattern does not escape, so a JSON message is made here and only framed by the pattern.
void Write(spdlog::level::level_enum level, std::string_view text) {
  if (!g_json) {
    spdlog::log(level, "{}", PrintableLines(text));
    return;
  }
  const nlohmann::json message = std::string(text);
  spdlog::log(level, "{}", message.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void WriteLimited(spdlog::level::level_enum level, std::string_view text, std::string_view reason,
                  const std::source_location& site) {
  if (!spdlog::should_log(level)) return;
  const std::string kind =
      fmt::format("{}:{}:{}", site.file_name(), site.line(), reason.empty() ? text : reason);
  std::optional<uint64_t> held_back;
  {
    const std::lock_guard lock(g_mutex);
    held_back = g_limiter.Ask(kind, text, std::chrono::steady_clock::now());
  }
  if (!held_back) return;
  if (*held_back == 0) return Write(level, text);
  Write(level, fmt::format("{} ({} more lines like this were not shown)", text, *held_back));
}

void WriteHeldBack(const std::vector<LogLimiter::HeldBack>& all) {
  for (const LogLimiter::HeldBack& held : all)
    Write(spdlog::level::warn, fmt::format("{} more {} not shown like: {}", held.lines,
                                           held.lines == 1 ? "line was" : "lines were", held.text));
}

}  // namespace

void InitLog(const LogSettings& settings) {
  auto logger = std::make_shared<spdlog::logger>("stackray",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  ChangeLog(settings);
}

void ChangeLog(const LogSettings& settings) {
  g_json = settings.format == LogFormat::kJson;
  spdlog::logger& logger = *spdlog::default_logger_raw();
  logger.set_pattern(g_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})"
                            : "%Y-%m-%d %H:%M:%S %l: %v");
  logger.set_level(LevelOf(settings.level));
}

void LogInfo(std::string_view text, std::string_view reason, std::source_location site) {
  WriteLimited(spdlog::level::info, text, reason, site);
}
void LogWarning(std::string_view text, std::string_view reason, std::source_location site) {
  WriteLimited(spdlog::level::warn, text, reason, site);
}
void LogError(std::string_view text, std::string_view reason, std::source_location site) {
  WriteLimited(spdlog::level::err, text, reason, site);
}

void LogHeldBack() {
  std::vector<LogLimiter::HeldBack> all;
  {
    const std::lock_guard lock(g_mutex);
    all = g_limiter.TakeHeldBack(std::chrono::steady_clock::now());
  }
  WriteHeldBack(all);
}

void LogAllHeldBack() {
  std::vector<LogLimiter::HeldBack> all;
  {
    const std::lock_guard lock(g_mutex);
    all = g_limiter.TakeAll();
  }
  WriteHeldBack(all);
}

uint64_t LogLinesHeldBack() {
  const std::lock_guard lock(g_mutex);
  return g_limiter.held_back_in_all();
}

}  // namespace stackray
