#include "agent/web_server/web_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "agent/web_server/cpu_time.h"
#include "agent/web_server/http_server.h"
#include "agent/web_server/loopback_listener.h"
#include "agent/web_server/page_access.h"
#include "agent/web_server/profile_cache.h"
#include "agent/web_server/request_guard.h"

namespace stackray {
namespace {

constexpr int64_t kDefaultRangeMs = 60'000;
constexpr std::string_view kView = "/api/view?", kReports = "/reports",
                           kReportPage = "/reports/page";
constexpr std::string_view kPaths[] = {"/",      "/api/profile", "/api/view",   "/api/status",
                                       kReports, "/api/reports", "/api/report", kReportPage};
constexpr char kJson[] = "application/json";
constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kMetrics[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kNoPage[] =
    "no page here, as a receiver is configured and --page was not given; there are /metrics and "
    "/healthz";
constexpr char kNeedsToken[] =
    "<!doctype html><meta charset=\"utf-8\"><title>stackray</title><h1>This page needs its "
    "token</h1><p>It shows what every program of this host does. Open the address that the agent "
    "printed, with its <code>?token=…</code>; <code>sudo stackray agent --status</code> prints it "
    "again (<code>page_url</code>).</p><p>Was it open here before? Its session has ended: sessions "
    "end with the agent, with a new token, and 12 hours after their last use.</p>";

int64_t SystemNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

WebAnswer BodyAnswer(WebBodyPtr body, const char* type) {
  return {.status = 200, .type = type, .body = std::move(body), .headers = {}};
}

// Absent: nullopt in `value`, true. False: there, but no number from 0 to 2^53 (a browser's
// integers).
bool ReadMs(const RequestHead& request, const char* name, std::optional<int64_t>& value) {
  const std::optional<std::string> text = request.Parameter(name);
  if (!text) return true;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < 0 ||
      number > 1LL << 53)
    return false;
  value = number;
  return true;
}

std::string InAddress(const std::string& host) {
  return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
}

bool IsEveryAddress(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "HOST";
}

}  // namespace

class WebServer::Impl {
 public:
  Impl(const WebServerSettings& settings, std::string_view page, PageDataSource& source,
       uint16_t port)
      : host_(settings.host),
        port_(port),
        metrics_only_(settings.metrics_only),
        any_host_name_(metrics_only_ || !IsLoopbackHost(host_)),
        now_ms_(settings.now_ms ? settings.now_ms : &SystemNow),
        begin_thread_(settings.begin_thread),
        source_(source),
        page_(MakeBody(std::string(page), 9)),
        access_(settings.page_token, port),
        cache_([this](ProfileCache::Range range) {
          return source_.ProfileGzip(range.first, range.second, stop_.get_token());
        }) {}

  absl::Status Run(UniqueFd listening_socket, std::string_view page) {
    HttpHandlers handlers;
    handlers.begin_thread = begin_thread_;
    handlers.quick = [this](const RequestHead& request) { return Quick(request); };
    if (!metrics_only_)
      handlers.slow = [this](const std::string& target, std::stop_token stop) {
        if (target.starts_with(kReportPage)) return ReportPage(target);
        const bool is_view = target.starts_with(kView);
        return is_view ? View(target.substr(kView.size()), std::move(stop)) : Profile(target, stop);
      };
    handlers.answered = [this](int status) {
      ++requests_;
      if (status >= 400) ++(status < 500 ? refused_ : failed_);
    };
    handlers.shared_headers =
        "X-Content-Type-Options: nosniff\r\nX-Frame-Options: "
        "DENY\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        "Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\n";
    handlers.policy = ContentSecurityPolicy(page);
    auto server = HttpServer::Start(std::move(listening_socket), std::move(handlers));
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  void Stop() {
    stop_.request_stop();
    cache_.Stop();
    if (server_ != nullptr) server_->Stop();
  }

  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }
  PageAccess& access() { return access_; }
  WebServerStatistics statistics() const { return {requests_, refused_, failed_}; }

 private:
  std::optional<WebAnswer> Quick(const RequestHead& request) {
    if (!any_host_name_ && (request.CountOf("Host") != 1 || !IsLocalHost(request.Header("Host"))))
      return ErrorAnswer(403, "only 127.0.0.1, localhost or [::1] with a port may be asked for");
    if (request.method != "GET" && request.method != "HEAD") {
      WebAnswer answer = ErrorAnswer(405, "only GET and HEAD");
      answer.headers.emplace_back("Allow", "GET, HEAD");
      return answer;
    }
    const std::string_view path = request.path();
    if (path == "/metrics") return BodyAnswer(MakeBody(source_.MetricsText(), 1), kMetrics);
    if (path == "/healthz") return Health();
    const bool is_page = path == "/";
    if (metrics_only_ || std::ranges::find(kPaths, path) == std::end(kPaths))
      return ErrorAnswer(404, "not found or not understood");
    const bool is_list = path == kReports;
    const bool is_report = is_list || path == kReportPage || path.starts_with("/api/report");
    if (!source_.HasPage()) {
      if (is_page || is_report) return ErrorAnswer(404, kNoPage);
    } else if (const PageAccess::Grant grant = access_.Check(request);
               grant == PageAccess::Grant::kNone) {
      return Refusal(request, is_page || is_list || path == kReportPage);
    } else if (is_page) {
      return Page(request, grant);
    }
    if (is_list) return BodyAnswer(MakeBody(source_.ReportsHtml(), 1), kHtml);
    if (path == "/api/reports") return BodyAnswer(MakeBody(source_.ReportsJson(), 1), kJson);
    if (path == "/api/report") return Report(request);
    if (path == "/api/status") return BodyAnswer(MakeBody(source_.StatusJson(), 1), kJson);
    return std::nullopt;
  }

  WebAnswer Health() {
    const absl::Status health = source_.Health();
    return TextAnswer(health.ok() ? 200 : 503,
                      health.ok() ? "ok\n" : std::string(health.message()) + "\n");
  }

  WebAnswer Refusal(const RequestHead& request, bool is_page) const {
    WebAnswer answer = ErrorAnswer(
        401, "the token is missing: open the address that stackray agent --status prints");
    if (is_page) {
      answer.type = kHtml;
      answer.body = MakeBody(kNeedsToken, 1);
    }
    SetCookie(access_.ExpireOld(request), &answer);
    return answer;
  }

  WebAnswer Page(const RequestHead& request, PageAccess::Grant grant) {
    WebAnswer answer = BodyAnswer(page_, kHtml);
    SetCookie(access_.ExpireOld(request), &answer);
    if (grant == PageAccess::Grant::kByAddress) SetCookie(access_.BeginSession(request), &answer);
    return answer;
  }

  static void SetCookie(const std::string& value, WebAnswer* answer) {
    if (!value.empty()) answer->headers.emplace_back("Set-Cookie", value);
  }

  WebAnswer Report(const RequestHead& request) {
    const std::string name = request.Parameter("name").value_or("");
    absl::StatusOr<UniqueFd> file = source_.OpenReport(name);
    if (!file.ok()) return Failed(file.status());
    absl::StatusOr<WebBodyPtr> body = MakeFileBody(*std::move(file));
    if (!body.ok()) return Failed(body.status());
    WebAnswer answer = BodyAnswer(*std::move(body), "application/zstd");
    answer.headers.emplace_back("Content-Disposition",
                                fmt::format("attachment; filename=\"{}.tar.zst\"", name));
    return answer;
  }

  // This release's page around the report's data, so the server's policy is its policy.
  WebAnswer ReportPage(const std::string& target) {
    RequestHead request;
    request.target = target;
    absl::StatusOr<std::string> page = source_.ReportPage(request.Parameter("name").value_or(""));
    if (!page.ok()) return Failed(page.status());
    return BodyAnswer(MakeBody(*std::move(page), 1), kHtml);
  }

  WebAnswer View(const std::string& query, std::stop_token stop) {
    const double began = ThreadCpuSeconds();
    absl::StatusOr<std::string> gzip = source_.ViewGzip(query, std::move(stop));
    if (!gzip.ok()) return Failed(gzip.status());
    return Compressed(MakeCompressedBody(*std::move(gzip), ThreadCpuSeconds() - began));
  }

  static WebAnswer Failed(const absl::Status& status) {
    return ErrorAnswer(absl::IsInvalidArgument(status)     ? 400
                       : absl::IsNotFound(status)          ? 404
                       : absl::IsResourceExhausted(status) ? 413
                       : absl::IsInternal(status)          ? 500
                                                           : 503,
                       std::string(status.message()));
  }

  // With what it cost: the page asks the less often, the more that is.
  static WebAnswer Compressed(const absl::StatusOr<WebBodyPtr>& body) {
    if (!body.ok())
      return ErrorAnswer(absl::IsUnavailable(body.status()) ? 503 : 500,
                         std::string(body.status().message()));
    WebAnswer answer = BodyAnswer(*body, kJson);
    answer.headers.emplace_back("Server-Timing",
                                fmt::format("make;dur={:.1f}", 1e3 * (*body)->cpu_seconds));
    return answer;
  }

  WebAnswer Profile(const std::string& target, const std::stop_token& stop) {
    RequestHead request;
    request.target = target;
    if (const std::optional<std::string> capture = request.Parameter("capture")) {
      const double began = ThreadCpuSeconds();
      absl::StatusOr<std::string> gzip = source_.CaptureProfileGzip(*capture, stop);
      if (!gzip.ok()) return Failed(gzip.status());
      return Compressed(MakeCompressedBody(*std::move(gzip), ThreadCpuSeconds() - began));
    }
    std::optional<int64_t> from, to;
    if (!ReadMs(request, "from_ms", from) || !ReadMs(request, "to_ms", to))
      return ErrorAnswer(400, "from_ms and to_ms are Unix milliseconds");
    if (!to) to = (now_ms_() / 1000 + 1) * 1000;  // All requests of one second have one range.
    if (!from) from = std::max<int64_t>(*to - kDefaultRangeMs, 0);
    if (*from >= *to) return ErrorAnswer(400, "from_ms must be before to_ms");
    return Compressed(cache_.Get({*from, *to}));
  }

  const std::string host_;
  const uint16_t port_;
  const bool metrics_only_;
  // Asked by other hosts, under names that nobody can know here. The page's cookie is bound to the
  // name under which it was set, so a name that an attacker makes resolve to this address comes
  // without it.
  const bool any_host_name_;
  const std::function<int64_t()> now_ms_;
  const std::function<void()> begin_thread_;
  PageDataSource& source_;
  const WebBodyPtr page_;
  PageAccess access_;
  std::stop_source stop_;
  ProfileCache cache_;
  std::atomic<uint64_t> requests_{0}, refused_{0}, failed_{0};
  std::unique_ptr<HttpServer> server_;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() { Stop(); }

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebServerSettings& settings,
                                                            std::string_view page,
                                                            PageDataSource& source) {
  const bool anywhere = settings.metrics_only || !settings.page_token.empty();
  absl::StatusOr<LoopbackListener> listener =
      anywhere && !IsLoopbackHost(settings.host)
          ? ListenOnAny(settings.host, settings.port)
          : ListenOnLoopback(settings.host, settings.port,
                             settings.metrics_only ? uint16_t{1} : settings.ports_to_try);
  if (!listener.ok()) return listener.status();
  auto impl = std::make_unique<Impl>(settings, page, source, listener->port);
  if (absl::Status status = impl->Run(std::move(listener->socket), page); !status.ok())
    return status;
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

uint16_t WebServer::port() const { return impl_->port(); }

std::string WebServer::url() const {
  const std::string& host = impl_->host();
  return fmt::format("http://{}:{}/", IsEveryAddress(host) ? "127.0.0.1" : InAddress(host),
                     impl_->port());
}

std::string WebServer::page_url() const { return url() + impl_->access().Query(); }

void WebServer::SetPageToken(std::string token) { impl_->access().Set(std::move(token)); }

std::string WebServer::FromElsewhere(std::string host_name, bool with_token) const {
  const std::string query = with_token ? impl_->access().Query() : "";
  const std::string& host = impl_->host();
  if (host_name.empty()) host_name = HostName();
  if (IsLoopbackHost(host)) return SshHint(host, port(), host_name, query);
  return fmt::format("from another machine, in clear text: http://{}:{}/{}",
                     IsEveryAddress(host) ? host_name : InAddress(host), port(), query);
}

WebServerStatistics WebServer::statistics() const { return impl_->statistics(); }

void WebServer::Stop() { impl_->Stop(); }

std::string SshHint(std::string_view listen_host, uint16_t port, std::string host_name,
                    std::string_view query) {
  if (host_name.empty()) host_name = HostName();
  const std::string_view target = listen_host == "::1" ? "[::1]" : listen_host;
  return fmt::format("from another machine: ssh -L {}:{}:{} {}, then open http://127.0.0.1:{}/{}",
                     port, target, port, host_name, port, query);
}

}  // namespace stackray
