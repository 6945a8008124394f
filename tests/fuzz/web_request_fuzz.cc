// libs: stackray_web_server stackray_formats absl::strings Threads::Threads
// What anybody on this host may send to the page's server, whole connections of any bytes; and what
// decides who may ask.
//
// An input without a carriage return has its lines ended as HTTP's are.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "agent/web_server/page_access.h"
#include "agent/web_server/request_guard.h"
#include "agent/web_server/request_head.h"
#include "agent/web_server/web_answer.h"
#include "agent/web_server/web_server.h"
#include "kernel/unique_fd.h"
#include "reporter/formats/gzip.h"

namespace {

constexpr int kLongestWaitMs = 8000;  // Longer than any deadline of the server's.
constexpr size_t kMostReplyBytes = 1 << 20;
constexpr char kPage[] = "<html><script>page</script></html>";
constexpr char kToken[] = "abcdefgh12345678";

void Check(bool holds) {
  if (!holds) std::abort();
}

class SmallSource : public stackray::PageDataSource {
 public:
  absl::StatusOr<std::string> ProfileGzip(int64_t from_ms, int64_t to_ms,
                                          std::stop_token /*stop*/) override {
    Check(from_ms >= 0 && from_ms < to_ms);
    return stackray::GzipCompress("{}", 1);
  }
  absl::StatusOr<std::string> ViewGzip(std::string_view, std::stop_token) override {
    return stackray::GzipCompress("{}", 1);
  }
  std::string StatusJson() override { return "{}"; }
  std::string MetricsText() override { return "stackray_up 1\n"; }
  absl::Status Health() override { return absl::OkStatus(); }
};

uint16_t ServerPort() {
  static SmallSource source;
  static const std::unique_ptr<stackray::WebServer> server = [] {
    stackray::WebServerSettings settings;
    settings.port = 0;
    settings.page_token = kToken;
    settings.now_ms = [] { return int64_t{1'790'000'000'500}; };
    auto started = stackray::WebServer::Start(settings, kPage, source);
    Check(started.ok());
    return *std::move(started);
  }();
  return server->port();
}

// The whole answer. The server must end the connection by itself.
std::string Ask(std::string_view bytes) {
  const stackray::UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(ServerPort());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  while (!bytes.empty()) {
    const ssize_t sent = send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  shutdown(client.get(), SHUT_WR);
  std::string reply;
  for (char buffer[16384];;) {
    pollfd ready{client.get(), POLLIN, 0};
    const int is_ready = poll(&ready, 1, kLongestWaitMs);
    if (is_ready < 0 && errno == EINTR) continue;  // libFuzzer's own clock, and how it is ended.
    Check(is_ready > 0);
    const ssize_t got = recv(client.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) return reply;
    reply.append(buffer, static_cast<size_t>(got));
    Check(reply.size() <= kMostReplyBytes);
  }
}

// All that a head is asked, of any bytes.
void ParseAny(std::string_view text) {
  const size_t length = stackray::HeadLength(text);
  Check(length <= text.size());
  const stackray::ParsedHead parsed = stackray::ParseRequestHead(text);
  if (parsed.status != 0) return;
  const stackray::RequestHead& head = parsed.head;
  Check(length != 0 && !head.method.empty() && !head.target.empty());
  Check(head.headers.size() <= stackray::kMaxHeaders &&
        head.target.size() <= stackray::kMaxTargetBytes);
  for (const auto& [name, value] : head.headers) {
    Check(head.CountOf(name) >= 1 && value.find_first_of("\r\n") == std::string_view::npos);
    Check(head.Cookie(name).find(';') == std::string_view::npos);
  }
  (void)head.Parameter("token");
  (void)stackray::FormFor(head);
  stackray::PageAccess access(kToken, 7171);
  const bool granted = access.Check(head) != stackray::PageAccess::Grant::kNone;
  const bool escaped = text.find('%') != std::string_view::npos;
  Check(!granted || escaped || text.find(kToken) != std::string_view::npos);
}

std::string WithLineEnds(std::string_view text) {
  if (text.find('\r') != std::string_view::npos) return std::string(text);
  std::string lines;
  for (const char c : text) {
    if (c == '\n') lines += '\r';
    lines += c;
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (stackray::IsLocalHost(text))
    Check(text.find_first_not_of("0123456789.:[]localhost") == std::string_view::npos);
  (void)stackray::AcceptsGzip(text);
  const std::string policy = stackray::ContentSecurityPolicy(text.substr(0, 4096));
  Check(std::count(policy.begin(), policy.end(), ';') == 8 &&
        policy.find_first_of("\r\n") == std::string::npos);
  const std::string bytes = WithLineEnds(text);
  ParseAny(bytes);
  const std::string reply = Ask(bytes);
  Check(reply.empty() || reply.starts_with("HTTP/1.1 "));
  // No page without a Host header, whose name may be in any case and needs no space behind it.
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  if (lower.find("host") == std::string::npos)
    Check(reply.find("<script>page") == std::string::npos);
  // And none without the token, which may be escaped.
  if (text.find(kToken) == std::string_view::npos && text.find('%') == std::string_view::npos)
    Check(reply.find("<script>page") == std::string::npos &&
          reply.find(kToken) == std::string::npos);
  return 0;
}
