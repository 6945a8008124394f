#include "agent/reports/report_log.h"

#include <nlohmann/json.hpp>

namespace stackray {
namespace {

constexpr size_t kMostBodyBytes = 256 << 10;
constexpr int64_t kNsPerMs = 1'000'000;

std::string TextOf(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string BodyOf(const ReportManifest& manifest) {
  nlohmann::ordered_json json = manifest.ToJson();
  std::string text = TextOf(json);
  if (text.size() <= kMostBodyBytes) return text;
  for (const char* list : {"entries", "missing", "processes"}) json.erase(list);
  json["cut"] = true;
  text = TextOf(json);
  return text.size() <= kMostBodyBytes ? text : manifest.Summary();
}

}  // namespace

LogRecord LogRecordOf(const ReportManifest& manifest, uint64_t bytes,
                      const std::string& uploaded_to, int64_t now_unix_ns) {
  LogRecord record{
      .time_unix_ns = manifest.unix_ms * kNsPerMs,
      .observed_unix_ns = now_unix_ns,
      .is_warning = manifest.is_automatic,
      .event_name = "stackray.report",
      .body = BodyOf(manifest),
      .attributes = {{"stackray.report.name", manifest.name},
                     {"stackray.report.trigger", manifest.trigger},
                     {"stackray.report.reason", manifest.reason},
                     {"stackray.report.summary", manifest.Summary()},
                     {"stackray.report.bytes", static_cast<int64_t>(bytes)},
                     {"stackray.report.missing", static_cast<int64_t>(manifest.missing.size())},
                     {"stackray.capture.name", manifest.name}}};
  if (manifest.pid != 0)
    record.attributes.emplace_back("stackray.report.pid", int64_t{manifest.pid});
  if (!uploaded_to.empty()) record.attributes.emplace_back("stackray.report.upload", uploaded_to);
  return record;
}

}  // namespace stackray
