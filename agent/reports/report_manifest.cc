#include "agent/reports/report_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

// What a signal handler returns to: glibc's and musl's on x86-64, and the vDSO's on arm64.
bool IsSignalReturn(std::string_view function) {
  return function == "__restore_rt" || function == "__kernel_rt_sigreturn";
}

// The leaf's end of it, in about two lines. A JVM and Python's faulthandler handle the first signal
// and end by a second one; the function that failed is then the one below the handler.
std::string LastStackText(std::span<const std::string> functions) {
  constexpr size_t kMostFunctions = 8, kMostBytes = 400;
  const auto handler = std::ranges::find_if(functions, IsSignalReturn);
  std::string text;
  if (handler != functions.end() && handler + 1 != functions.end()) {
    functions = {handler + 1, functions.end()};
    text = "[a signal's handler] < ";
  }
  for (size_t i = 0; i < functions.size() && i < kMostFunctions && text.size() < kMostBytes; ++i)
    text += (i == 0 ? "" : " < ") + functions[i].substr(0, kMostBytes);
  return text;
}

}  // namespace

nlohmann::ordered_json ReportManifest::ToJson() const {
  using Json = nlohmann::ordered_json;
  Json there = Json::array(), lacks = Json::array(), processes_json = Json::array();
  for (const Entry& entry : entries) {
    Json json = {{"name", entry.name}, {"bytes", entry.bytes}};
    if (entry.is_cut) json["cut"] = true;
    there.push_back(std::move(json));
  }
  for (const Lack& lack : missing) lacks.push_back({{"name", lack.name}, {"why", lack.why}});
  for (const ReportedProcess& process : processes)
    processes_json.push_back({{"pid", process.pid},
                              {"command", PrintableText(process.command)},
                              {"resident_bytes", process.resident_bytes},
                              {"cpu_percent", process.cpu_percent},
                              {"io_bytes_per_second", process.io_bytes_per_second}});
  Json asked = {{"trigger", trigger}, {"reason", reason}};
  if (pid != 0) asked["pid"] = pid;
  if (!target.empty()) asked["target"] = target;
  if (is_target_claimed) asked["target_is_claimed"] = true;
  Json last = Json::array();
  for (const std::string& function : last_stack) last.push_back(function);
  Json json = {{"stackray_report", kVersion},
               {"name", name},
               {"host", host},
               {"agent_version", agent_version},
               {"unix_ms", unix_ms},
               {"took_ms", took_ms},
               {"asked", std::move(asked)},
               {"summary", Summary()},
               {"processes", std::move(processes_json)},
               {"entries", std::move(there)},
               {"missing", std::move(lacks)}};
  if (!last_stack.empty()) json["last_stack"] = std::move(last);
  return json;
}

std::string ReportManifest::Summary() const {
  constexpr double kLeastIo = 64 << 10;  // Less is nobody's trouble.
  std::string text = fmt::format("{}: {}", trigger, reason);
  if (is_target_claimed) text += "; of " + target;
  if (!last_stack.empty()) text += "; last stack: " + LastStackText(last_stack);
  const auto largest = std::ranges::max_element(processes, {}, &ReportedProcess::resident_bytes);
  const auto busiest = std::ranges::max_element(processes, {}, &ReportedProcess::cpu_percent);
  if (largest == processes.end()) return text;
  text += fmt::format("; most memory: {} ({}), {} MiB", PrintableText(largest->command),
                      largest->pid, largest->resident_bytes >> 20);
  text += fmt::format("; most CPU: {} ({}), {:.0f} %", PrintableText(busiest->command),
                      busiest->pid, busiest->cpu_percent);
  const auto io = std::ranges::max_element(processes, {}, &ReportedProcess::io_bytes_per_second);
  if (io->io_bytes_per_second >= kLeastIo)
    text += fmt::format("; most I/O: {} ({}), {:.1f} MiB/s", PrintableText(io->command), io->pid,
                        io->io_bytes_per_second / (1 << 20));
  return text;
}

}  // namespace stackray
