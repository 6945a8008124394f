// A log record and its OTLP wire.
// Input:   any bytes; text that is no UTF-8 is made some.
// Threads: plain functions.
#ifndef STACKRAY_REPORTER_LOGS_LOG_RECORD_H_
#define STACKRAY_REPORTER_LOGS_LOG_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stackray {

struct LogRecord {
  int64_t time_unix_ns = 0, observed_unix_ns = 0;
  bool is_warning = false;  // Else an information.
  std::string event_name;
  std::string body;
  std::vector<std::pair<std::string, std::variant<int64_t, std::string>>> attributes;
};

// The body of an ExportLogsServiceRequest with one record of one resource, whose encoded message is
// given. Layout: opentelemetry-proto 1.10, logs/v1/logs.proto.
std::string EncodeLogRecord(std::string_view resource, std::string_view agent_version,
                            const LogRecord& record);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_LOGS_LOG_RECORD_H_
