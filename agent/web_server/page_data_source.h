// What the web server shows, made by others: the server knows no formats.
#ifndef STACKRAY_AGENT_WEB_SERVER_PAGE_DATA_SOURCE_H_
#define STACKRAY_AGENT_WEB_SERVER_PAGE_DATA_SOURCE_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Threads: called from the server's worker threads, several at once, until WebServer::Stop()
// returns. Errors and exceptions become an HTTP 500 or 503; only an error's message is shown.
class PageDataSource {
 public:
  virtual ~PageDataSource() = default;

  // False: only /metrics, /healthz and /api/status have something to show, for now.
  virtual bool HasPage() { return true; }
  // The document of docs/page-data.md for [from_ms, to_ms), Unix milliseconds, compressed by gzip:
  // it is long, and never needs to be whole in memory. Should end within half a second once `stop`
  // is requested (any result then): the server's stop waits for it.
  virtual absl::StatusOr<std::string> ProfileGzip(int64_t from_ms, int64_t to_ms,
                                                  std::stop_token stop) = 0;
  // Such a document of all the time of a capture. Errors: NotFound.
  virtual absl::StatusOr<std::string> CaptureProfileGzip(const std::string& /*name*/,
                                                         const std::stop_token& /*stop*/) {
    return absl::NotFoundError("no captures here");
  }
  // The answer to GET /api/view there, compressed by gzip. `query`: what stands behind "?". `stop`:
  // nobody waits for it any more, or as above. Errors: InvalidArgument: the question is none.
  virtual absl::StatusOr<std::string> ViewGzip(std::string_view query, std::stop_token stop) = 0;
  // Diagnostic reports: the list as JSON and as a page, one's archive (a regular file), and the
  // page inside one. The lists are quick. Errors: NotFound.
  virtual std::string ReportsJson() { return "{\"reports\":[]}\n"; }
  virtual std::string ReportsHtml() { return ""; }
  virtual absl::StatusOr<UniqueFd> OpenReport(const std::string& /*name*/) {
    return absl::NotFoundError("no reports here");
  }
  virtual absl::StatusOr<std::string> ReportPage(const std::string& /*name*/) {
    return absl::NotFoundError("no reports here");
  }
  // The document of GET /api/status there. Quick.
  virtual std::string StatusJson() = 0;
  // Prometheus text format 0.0.4. Quick.
  virtual std::string MetricsText() = 0;
  // Ok while the agent samples. Quick.
  virtual absl::Status Health() = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_PAGE_DATA_SOURCE_H_
