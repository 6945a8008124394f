// What a log record says of a report: its manifest as the body, what matters most as attributes.
// Threads: a plain function.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_LOG_H_
#define STACKRAY_AGENT_REPORTS_REPORT_LOG_H_

#include <cstdint>
#include <string>

#include "agent/reports/report_manifest.h"
#include "reporter/logs/log_record.h"

namespace stackray {

// `bytes`: of the archive. `uploaded_to`: where it will be; empty: on the host alone.
// A manifest of more than 256 KiB leaves its lists out.
LogRecord LogRecordOf(const ReportManifest& manifest, uint64_t bytes,
                      const std::string& uploaded_to, int64_t now_unix_ns);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_LOG_H_
