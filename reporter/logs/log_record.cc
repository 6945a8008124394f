// ExportLogsServiceRequest {1 resource_logs}, ResourceLogs {1 resource, 2 scope_logs},
// ScopeLogs {1 scope, 2 log_records}, InstrumentationScope {1 name, 2 version}.
#include "reporter/logs/log_record.h"

#include "reporter/valid_text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

constexpr uint64_t kInformation = 9, kWarning = 13;  // SeverityNumber.

void AppendTime(int field, int64_t unix_ns, std::string* out) {
  wire::AppendTag(field, wire::Type::kFixed64, out);
  wire::AppendFixed64(static_cast<uint64_t>(unix_ns), out);
}

void AppendText(int field, std::string_view text, std::string* out) {
  std::string scratch;
  wire::AppendBytes(field, ValidText(text, &scratch), out);
}

// A document, which is of no use when it is cut: a valid one stays whole.
void AppendBody(std::string_view text, std::string* out) {
  if (ValidUtf8Prefix(text) != text.size()) return AppendText(1, text, out);
  wire::AppendBytes(1, text, out);
}

// KeyValue {1 key, 2 value}, AnyValue {1 string, 3 int}.
std::string EncodeAttribute(const std::string& key,
                            const std::variant<int64_t, std::string>& given) {
  std::string value, result;
  if (const auto* text = std::get_if<std::string>(&given)) {
    AppendText(1, *text, &value);
  } else {
    wire::AppendTag(3, wire::Type::kVarint, &value);
    wire::AppendVarint(static_cast<uint64_t>(std::get<int64_t>(given)), &value);
  }
  AppendText(1, key, &result);
  wire::AppendBytes(2, value, &result);
  return result;
}

// LogRecord {1 time, 2 severity_number, 3 severity_text, 5 body, 6 attributes, 11 observed time,
// 12 event_name}.
std::string EncodeRecord(const LogRecord& record) {
  std::string out, body;
  AppendTime(1, record.time_unix_ns, &out);
  wire::AppendNumber(2, record.is_warning ? kWarning : kInformation, &out);
  wire::AppendBytes(3, record.is_warning ? "WARN" : "INFO", &out);
  AppendBody(record.body, &body);
  wire::AppendBytes(5, body, &out);
  for (const auto& [key, value] : record.attributes)
    wire::AppendBytes(6, EncodeAttribute(key, value), &out);
  AppendTime(11, record.observed_unix_ns, &out);
  AppendText(12, record.event_name, &out);
  return out;
}

}  // namespace

std::string EncodeLogRecord(std::string_view resource, std::string_view agent_version,
                            const LogRecord& record) {
  std::string scope, scope_logs, resource_logs, request;
  wire::AppendBytes(1, "stackray", &scope);
  wire::AppendBytes(2, agent_version, &scope);
  wire::AppendBytes(1, scope, &scope_logs);
  wire::AppendBytes(2, EncodeRecord(record), &scope_logs);
  wire::AppendBytes(1, resource, &resource_logs);
  wire::AppendBytes(2, scope_logs, &resource_logs);
  wire::AppendBytes(1, resource_logs, &request);
  return request;
}

}  // namespace stackray
