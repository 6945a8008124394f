// The local page's HTTP server, on the loopback interface unless its settings say otherwise.
//
//   /                                 the page
//   /api/profile?from_ms=A&to_ms=B    docs/page-data.md; without parameters the last 60 s
//   /api/view?from_ms=A&to_ms=B&…     there too: what of a profile is to be drawn
//   /reports                          a list of the host's reports
//   /reports/page?name=NAME           the page inside one
//   /api/reports   /api/report?name=NAME   the list as JSON; an archive
//   /api/status   /metrics   /healthz
//
// The page and /api show what every program of the host does, so they want a token (page_access.h).
// /metrics and /healthz hold no profile and want none.
//
// Where the settings say so it serves /metrics and /healthz alone, and then on any address and for
// any Host: a Prometheus server elsewhere may ask for numbers, and there is nothing else to be had.
//
// On the loopback interface Host must be a loopback name with a port (else 403: DNS rebinding).
// Methods are GET and HEAD (else 405), nothing is readable by other origins, and the page runs only
// its own scripts.
// Input:   anybody who reaches the port may connect; limits: http_server.h. Byte ranges are
//          ignored; one profile is made at a time, the same one only once.
// Threads: http_server.h's. Memory: the page twice (plain and gzip), and at most 4 profiles (gzip)
//          for a second each.
#ifndef STACKRAY_AGENT_WEB_SERVER_WEB_SERVER_H_
#define STACKRAY_AGENT_WEB_SERVER_WEB_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/web_server/page_data_source.h"

namespace stackray {

struct WebServerSettings {
  // 127.x.y.z, ::1 or localhost; with metrics_only or a token also any other of ours.
  std::string host = "127.0.0.1";
  uint16_t port = 7171;  // 0: any free one.
  uint16_t ports_to_try =
      29;  // From `port` on, when others are busy: up to 7199. Of the loopback interface.
  bool metrics_only = false;
  std::string
      page_token;  // Letters, digits, '-' and '_'. Empty: everybody on this host may read the page.
  std::function<int64_t()> now_ms;  // Unix milliseconds; empty: the system's clock.
  // Of each of the server's threads, as it begins; may be empty.
  std::function<void()> begin_thread;
};

struct WebServerStatistics {
  uint64_t requests = 0;
  uint64_t refused = 0;  // Answered 4xx.
  uint64_t failed = 0;   // Answered 5xx.
};

class WebServer {
 public:
  // Listens and serves when it returns. `page` is copied, and its scripts are what a browser runs
  // on every address of this server: it is this release's own, with data inside or without.
  // `source` outlives the server.
  // Errors: InvalidArgument (host not of the loopback interface, or no
  // address), Unavailable (no free port, and
  // why).
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const WebServerSettings& settings,
                                                          std::string_view page,
                                                          PageDataSource& source);
  ~WebServer();  // As Stop().

  uint16_t port() const;
  std::string url() const;       // "http://127.0.0.1:7171/".
  std::string page_url() const;  // url() with "?token=…" where there is one.
  // How to see the page from another machine, for the log. `host_name` empty: this host's own name.
  std::string FromElsewhere(std::string host_name, bool with_token) const;
  // From now on. Not empty where the server is reached by other hosts. Threads: any.
  void SetPageToken(std::string token);
  WebServerStatistics statistics() const;

  // Closes every connection, also in the middle of an answer, and returns when no thread is left:
  // at once, but for a source that is at work. May be called twice, from one thread.
  void Stop();

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// How to see the page from another machine, for the log:
// "from another machine: ssh -L 7171:127.0.0.1:7171 HOST, then open http://127.0.0.1:7171/".
// `host_name` empty: this host's own name. `query` stands behind the address.
std::string SshHint(std::string_view listen_host, uint16_t port, std::string host_name = "",
                    std::string_view query = "");

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_WEB_SERVER_H_
