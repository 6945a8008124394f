// What the web server's tests share: a source whose answers they choose, and a client that sends
// any bytes.
#ifndef STACKRAY_TESTS_AGENT_WEB_SERVER_WEB_CLIENT_H_
#define STACKRAY_TESTS_AGENT_WEB_SERVER_WEB_CLIENT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/web_server/web_server.h"
#include "kernel/unique_fd.h"

namespace stackray {

class FakeSource : public PageDataSource {
 public:
  absl::StatusOr<std::string> ProfileGzip(int64_t from_ms, int64_t to_ms,
                                          std::stop_token stop) override;
  absl::StatusOr<std::string> ViewGzip(std::string_view query, std::stop_token stop) override;
  std::string StatusJson() override { return "{\"version\":\"test\"}"; }
  std::string MetricsText() override { return "stackray_up 1\n"; }
  absl::Status Health() override { return health; }

  // The plain document.
  std::function<absl::StatusOr<std::string>(int64_t, int64_t, std::stop_token)> profile;
  // The plain answer to a question.
  std::function<absl::StatusOr<std::string>(std::string_view, std::stop_token)> view;
  std::string compressed;  // Not empty: instead of `profile`.
  absl::Status health;
  std::atomic<int> profiles{0}, at_once{0}, most_at_once{0};
};

// Starts on any free port, so that tests may run side by side.
std::unique_ptr<WebServer> StartAnywhere(PageDataSource& source,
                                         std::string_view page = "<html></html>",
                                         const std::string& token = "");

// A blocking connection to 127.0.0.1:port.
UniqueFd ConnectTo(uint16_t port);
void SendAll(int socket_fd, std::string_view bytes);
// All until the server closes, or `wait_ms` pass without a byte.
std::string ReceiveAll(int socket_fd, int wait_ms = 3000);
// One connection, these bytes, all that comes back.
std::string Exchange(uint16_t port, std::string_view bytes);
// "GET PATH HTTP/1.1" with a right Host, more header lines (each ended by CR LF), and Connection:
// close.
std::string GetRaw(uint16_t port, std::string_view path, std::string_view headers = "");

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_WEB_SERVER_WEB_CLIENT_H_
