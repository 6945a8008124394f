#include "agent/reports/report_manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporter/formats/text.h"

namespace stackray {

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
                              {"cpu_percent", process.cpu_percent}});
  Json asked = {{"trigger", trigger}, {"reason", reason}};
  if (pid != 0) asked["pid"] = pid;
  return {{"stackray_report", kVersion},
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
}

std::string ReportManifest::Summary() const {
  std::string text = fmt::format("{}: {}", trigger, reason);
  const auto largest = std::ranges::max_element(processes, {}, &ReportedProcess::resident_bytes);
  const auto busiest = std::ranges::max_element(processes, {}, &ReportedProcess::cpu_percent);
  if (largest == processes.end()) return text;
  text += fmt::format("; most memory: {} ({}), {} MiB", PrintableText(largest->command),
                      largest->pid, largest->resident_bytes >> 20);
  text += fmt::format("; most CPU: {} ({}), {:.0f} %", PrintableText(busiest->command),
                      busiest->pid, busiest->cpu_percent);
  return text;
}

}  // namespace stackray
