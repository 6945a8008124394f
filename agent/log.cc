#include "agent/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace stackray {
namespace {

bool g_json = false;

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
    spdlog::log(level, "{}", text);
    return;
  }
  const nlohmann::json message = std::string(text);
  spdlog::log(level, "{}", message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

void InitLog(const LogSettings& settings) {
  g_json = settings.format == LogFormat::kJson;
  auto logger = std::make_shared<spdlog::logger>("stackray",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(g_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})"
                             : "%Y-%m-%d %H:%M:%S %l: %v");
  logger->set_level(LevelOf(settings.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void LogInfo(std::string_view text) { Write(spdlog::level::info, text); }
void LogWarning(std::string_view text) { Write(spdlog::level::warn, text); }
void LogError(std::string_view text) { Write(spdlog::level::err, text); }

}  // namespace stackray
