#include "agent/web_server/web_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "agent/web_server/http_server.h"
#include "agent/web_server/loopback_listener.h"
#include "agent/web_server/profile_cache.h"
#include "agent/web_server/request_guard.h"

namespace stackray {
namespace {

constexpr int64_t kDefaultRangeMs = 60'000;
constexpr char kJson[] = "application/json";
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kMetrics[] = "text/plain; version=0.0.4; charset=utf-8";

int64_t SystemNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Our texts only: no quotes or control characters are in them.
std::string ErrorJson(std::string_view message) {
  std::string clean(message);
  std::erase_if(clean,
                [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c >= 0x7f; });
  return fmt::format("{{\"error\":\"{}\"}}", clean);
}

// For a client that takes no gzip, of a body that is kept in no other form.
void SendExpanded(httplib::Response& response, const WebBodyPtr& body, const char* type) {
  auto expander = std::make_shared<BodyExpander>(body);
  response.set_chunked_content_provider(type, [expander](size_t, httplib::DataSink& sink) {
    std::string part;
    const BodyExpander::State state = expander->Next(&part);
    if (state == BodyExpander::State::kDamaged) return false;
    if (!part.empty() && !sink.write(part.data(), part.size())) return false;
    if (state == BodyExpander::State::kEnd) sink.done();
    return true;
  });
}

void SendBody(const httplib::Request& request, httplib::Response& response, const WebBodyPtr& body,
              const char* type) {
  const bool gzip = request.has_header(kTakesGzipHeader) && !body->gzip.empty();
  response.set_header("Vary", "Accept-Encoding");
  if (gzip) response.set_header("Content-Encoding", "gzip");
  if (!gzip && body->plain.empty() && !body->gzip.empty())
    return SendExpanded(response, body, type);
  const std::string& bytes = gzip ? body->gzip : body->plain;
  if (bytes.empty()) return response.set_content("", type);
  // The body is shared, not copied, and lives as long as the answer.
  response.set_content_provider(
      bytes.size(), type, [body, &bytes](size_t offset, size_t length, httplib::DataSink& sink) {
        sink.write(bytes.data() + offset, length);
        return true;
      });
}

void SendError(httplib::Response& response, int status, std::string_view message) {
  response.status = status;
  if (status == 503) response.set_header("Retry-After", "1");
  response.set_content(ErrorJson(message), kJson);
}

// Absent: nullopt in `value`, true. False: there, but no number from 0 to 2^53 (a browser's
// integers).
bool ReadMs(const httplib::Request& request, const char* name, std::optional<int64_t>& value) {
  if (!request.has_param(name)) return true;
  const std::string text = request.get_param_value(name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > 1LL << 53)
    return false;
  value = number;
  return true;
}

}  // namespace

class WebServer::Impl {
 public:
  Impl(const WebServerSettings& settings, std::string_view page, PageDataSource& source,
       LoopbackListener listener, UniqueFd stop_fd)
      : host_(settings.host),
        port_(listener.port),
        metrics_only_(settings.metrics_only),
        now_ms_(settings.now_ms ? settings.now_ms : &SystemNow),
        source_(source),
        page_(MakeBody(std::string(page), 9)),
        stop_fd_(std::move(stop_fd)),
        cache_([this](ProfileCache::Range range) {
          return source_.ProfileGzip(range.first, range.second, stop_.get_token());
        }),
        server_(std::move(listener.socket), stop_fd_.get()) {
    SetHeaders(page);
    SetGuards();
    SetRoutes();
  }

  // False: the library could not serve on the socket.
  bool Run() {
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      ended_ = true;
    });
    pthread_setname_np(thread_.native_handle(), "stackray-accept");
    while (!server_.is_running() && !ended_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return !ended_;
  }

  void Stop() {
    if (!thread_.joinable()) return;
    stop_.request_stop();
    cache_.Stop();
    eventfd_write(stop_fd_.get(), 1);
    server_.stop();
    thread_.join();
  }

  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }
  WebServerStatistics statistics() const { return {requests_, refused_, failed_}; }

 private:
  void SetHeaders(std::string_view page) {
    server_.set_default_headers({{"Content-Security-Policy", ContentSecurityPolicy(page)},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"X-Frame-Options", "DENY"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Cross-Origin-Opener-Policy", "same-origin"},
                                 {"Cache-Control", "no-store"}});
  }

  void SetGuards() {
    using Result = httplib::Server::HandlerResponse;
    server_.set_payload_max_length(0);
    server_.set_pre_routing_handler([this](const httplib::Request& request,
                                           httplib::Response& response) {
      if (!metrics_only_ && (request.get_header_value_count("Host") != 1 ||
                             !IsLocalHost(request.get_header_value("Host")))) {
        SendError(response, 403, "only 127.0.0.1, localhost or [::1] with a port may be asked for");
        return Result::Handled;
      }
      if (request.method != "GET" && request.method != "HEAD") {
        response.set_header("Allow", "GET, HEAD");
        SendError(response, 405, "only GET and HEAD");
        return Result::Handled;
      }
      return Result::Unhandled;
    });
    server_.set_exception_handler([](const auto&, httplib::Response& response, auto&&...) {
      response.headers.erase("Content-Encoding");
      SendError(response, 500, "internal error");
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty())
        response.set_content(ErrorJson("not found or not understood"), kJson);
    });
    server_.set_logger([this](const httplib::Request&, const httplib::Response& response) {
      ++requests_;
      if (response.status >= 400) ++(response.status < 500 ? refused_ : failed_);
    });
  }

  void SetRoutes() {
    using httplib::Request, httplib::Response;
    if (!metrics_only_) SetPageRoutes();
    server_.Get("/metrics", [this](const Request& request, Response& response) {
      SendBody(request, response, MakeBody(source_.MetricsText(), 1), kMetrics);
    });
    server_.Get("/healthz", [this](const Request&, Response& response) {
      const absl::Status health = source_.Health();
      response.status = health.ok() ? 200 : 503;
      response.set_content(health.ok() ? "ok\n" : std::string(health.message()) + "\n", kText);
    });
  }

  void SetPageRoutes() {
    using httplib::Request, httplib::Response;
    server_.Get("/", [this](const Request& request, Response& response) {
      if (!source_.HasPage())
        return SendError(response, 404,
                         "no page here, as a receiver is configured and --page was not given; "
                         "there are /metrics and /healthz");
      SendBody(request, response, page_, "text/html; charset=utf-8");
    });
    server_.Get("/api/profile", [this](const Request& request, Response& response) {
      SendProfile(request, response);
    });
    server_.Get("/api/status", [this](const Request& request, Response& response) {
      SendBody(request, response, MakeBody(source_.StatusJson(), 1), kJson);
    });
  }

  void SendProfile(const httplib::Request& request, httplib::Response& response) {
    std::optional<int64_t> from, to;
    if (!ReadMs(request, "from_ms", from) || !ReadMs(request, "to_ms", to))
      return SendError(response, 400, "from_ms and to_ms are Unix milliseconds");
    if (!to) to = (now_ms_() / 1000 + 1) * 1000;  // The same range for all requests of one second.
    if (!from) from = std::max<int64_t>(*to - kDefaultRangeMs, 0);
    if (*from >= *to) return SendError(response, 400, "from_ms must be before to_ms");
    const absl::StatusOr<WebBodyPtr> body = cache_.Get({*from, *to});
    if (body.ok()) {  // The page asks the less often, the more its answers cost.
      response.set_header("Server-Timing",
                          fmt::format("make;dur={:.1f}", 1e3 * (*body)->cpu_seconds));
      return SendBody(request, response, *body, kJson);
    }
    SendError(response, absl::IsUnavailable(body.status()) ? 503 : 500,
              std::string(body.status().message()));
  }

  const std::string host_;
  const uint16_t port_;
  const bool metrics_only_;
  const std::function<int64_t()> now_ms_;
  PageDataSource& source_;
  const WebBodyPtr page_;
  const UniqueFd stop_fd_;
  std::stop_source stop_;
  ProfileCache cache_;
  std::atomic<uint64_t> requests_{0}, refused_{0}, failed_{0};
  HttpServer server_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() { Stop(); }

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebServerSettings& settings,
                                                            std::string_view page,
                                                            PageDataSource& source) {
  absl::StatusOr<LoopbackListener> listener =
      settings.metrics_only ? ListenOnAny(settings.host, settings.port)
                            : ListenOnLoopback(settings.host, settings.port, settings.ports_to_try);
  if (!listener.ok()) return listener.status();
  UniqueFd stop_fd(eventfd(0, EFD_CLOEXEC));
  if (!stop_fd.valid()) return absl::UnavailableError("no file descriptor is left for the server");
  auto impl =
      std::make_unique<Impl>(settings, page, source, *std::move(listener), std::move(stop_fd));
  if (!impl->Run()) {
    impl->Stop();
    return absl::UnavailableError("cannot serve on the listening socket");
  }
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

uint16_t WebServer::port() const { return impl_->port(); }

std::string WebServer::url() const {
  const bool v6 = impl_->host().find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", v6 ? fmt::format("[{}]", impl_->host()) : impl_->host(),
                     impl_->port());
}

WebServerStatistics WebServer::statistics() const { return impl_->statistics(); }

void WebServer::Stop() { impl_->Stop(); }

std::string SshHint(std::string_view listen_host, uint16_t port, std::string host_name) {
  if (host_name.empty()) {
    char name[256] = {};
    host_name = gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "HOST";
  }
  const std::string_view target = listen_host == "::1" ? "[::1]" : listen_host;
  return fmt::format("from another machine: ssh -L {}:{}:{} {}, then open http://127.0.0.1:{}/",
                     port, target, port, host_name, port);
}

}  // namespace stackray
