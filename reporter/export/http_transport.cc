#include "reporter/export/http_transport.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <utility>

#include "reporter/export/receiver_headers.h"
#include "reporter/export/receiver_hints.h"
#include "reporter/export/request_compression.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/signal_traits.h"
#include "reporter/shown_url.h"

namespace stackray {
namespace {

constexpr size_t kKeptBodyBytes = 64 << 10;
constexpr size_t kMaxBodyBytes = 1 << 20;  // A longer answer ends the transfer; its status counts.

struct Answer {
  std::string body;
  size_t received = 0;
};

size_t TakeBody(char* data, size_t size, size_t count, void* user_data) {
  auto* answer = static_cast<Answer*>(user_data);
  const size_t bytes = size * count;
  answer->received += bytes;
  if (answer->body.size() < kKeptBodyBytes)
    answer->body.append(data, std::min(bytes, kKeptBodyBytes - answer->body.size()));
  return answer->received > kMaxBodyBytes ? 0 : bytes;
}

struct HeadersDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderSlist = std::unique_ptr<curl_slist, HeadersDeleter>;

void Append(HeaderSlist& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return;
  (void)list.release();
  list.reset(longer);
}

std::string HeaderOf(CURL* easy, const char* name) {
  curl_header* header = nullptr;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return {};
  return std::string(header->value).substr(0, 1024);
}

bool IsTaken(const SendResult& result) {
  return result.kind == SendResult::Kind::kDelivered ||
         result.kind == SendResult::Kind::kPartlyRejected;
}

bool MayComeAgain(const SendResult& result) {
  return result.kind == SendResult::Kind::kRetry || result.kind == SendResult::Kind::kOverLimit ||
         result.kind == SendResult::Kind::kNoEntry ||
         result.kind == SendResult::Kind::kWrongProtocol;
}

const char* EncodingName(ExportCompression compression) {
  return compression == ExportCompression::kZstd ? "zstd" : "gzip";
}

std::string HintFor(CURLcode code, const ReceiverSettings& settings, const std::string& text) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return " (the receiver's certificate is not signed by a known authority: check "
             "OTEL_EXPORTER_OTLP_CERTIFICATE)";
    case CURLE_SSL_CACERT_BADFILE: return " (check OTEL_EXPORTER_OTLP_CERTIFICATE)";
    case CURLE_SSL_CERTPROBLEM:
      return " (check OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY)";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return " (what answers there speaks no HTTP: 4317 is gRPC's usual port, 4318 is HTTP's)";
    case CURLE_SSL_CONNECT_ERROR: {
      const std::string hint = LinkHint(settings, text);
      return hint.empty() ? " (is this an endpoint without TLS? Then write it with http://)" : hint;
    }
    default: return LinkHint(settings, text);
  }
}

// The link broke before an answer came. What is no HTTP at all is another protocol; all else may
// heal.
SendResult JudgeLink(CURLcode code, const char* details, const ReceiverSettings& settings,
                     const std::string& url) {
  SendResult result;
  const bool other_protocol =
      code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY;
  result.kind = other_protocol ? SendResult::Kind::kWrongProtocol : SendResult::Kind::kRetry;
  const std::string text = *details != '\0' ? details : curl_easy_strerror(code);
  result.message =
      fmt::format("{}: {}{}", ShownUrl(url), SafeMessage(text), HintFor(code, settings, text));
  return result;
}

}  // namespace

struct HttpTransport::Curl {
  Curl() {
    static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)global;
    easy = curl_easy_init();
    multi = curl_multi_init();
  }
  ~Curl() {
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  char error[CURL_ERROR_SIZE] = {};
};

HttpTransport::HttpTransport(ReceiverSettings settings)
    : settings_(std::move(settings)),
      compression_(settings_.compression),
      curl_(std::make_unique<Curl>()) {
  if (curl_->easy != nullptr) SetOptions();
}

HttpTransport::~HttpTransport() = default;

void HttpTransport::SetOptions() {
  CURL* easy = curl_->easy;
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, settings_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, curl_->error);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
  SetTlsOptions();
}

void HttpTransport::SetTlsOptions() {
  if (!settings_.endpoint.tls) return;
  CURL* easy = curl_->easy;
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!settings_.ca_certificate_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, settings_.ca_certificate_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);  // That authority alone.
  }
  if (!settings_.client_certificate_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, settings_.client_certificate_file.c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, settings_.client_key_file.c_str());
  }
}

absl::Status HttpTransport::Compress(const Payload& payload) {
  const bool same = !compressed_owner_.owner_before(payload.owner) &&
                    !payload.owner.owner_before(compressed_owner_);
  if (same && !compressed_.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> bytes = CompressRequest(payload.bytes, compression_);
  if (!bytes.ok()) return bytes.status();
  compressed_ = *std::move(bytes);
  compressed_owner_ = payload.owner;
  return absl::OkStatus();
}

int HttpTransport::Perform() {
  if (curl_multi_add_handle(curl_->multi, curl_->easy) != CURLM_OK) return CURLE_FAILED_INIT;
  int running = 1, result = CURLE_FAILED_INIT;
  while (running > 0 && !cancelled_) {
    if (curl_multi_perform(curl_->multi, &running) != CURLM_OK) break;
    // Cancel() wakes this poll; TIMEOUT_MS bounds the whole transfer.
    if (running > 0) curl_multi_poll(curl_->multi, nullptr, 0, 1000, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(curl_->multi, &left))
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  curl_multi_remove_handle(curl_->multi, curl_->easy);
  return cancelled_ && running > 0 ? -1 : result;
}

HttpOutcome HttpTransport::Attempt(const Payload& payload, std::chrono::milliseconds timeout) {
  CURL* easy = curl_->easy;
  const SignalTraits& traits = TraitsOf(payload.signal);
  const std::string url = settings_.endpoint.Url(traits);
  if (url.empty())
    return {.result = {.kind = SendResult::Kind::kRejected,
                       .message = fmt::format("{} takes no {}", ShownUrl(settings_.endpoint.Url()),
                                              traits.units)}};
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  HeaderSlist headers;
  Append(headers, "Content-Type: application/x-protobuf");
  if (!traits.version_header.empty()) Append(headers, fmt::format("{}: 1", traits.version_header));
  Append(headers, "Expect:");  // A batch is not worth a second of waiting for "100 Continue".
  std::string_view body = payload.bytes;
  // An empty request (probe.h) is not worth it, and says nothing about encodings.
  if (compression_ != ExportCompression::kNone && payload.items != 0) {
    if (const absl::Status status = Compress(payload); !status.ok())
      return {.result = {.kind = SendResult::Kind::kRejected,
                         .message = std::string(status.message())}};
    body = compressed_;
    Append(headers, fmt::format("Content-Encoding: {}", EncodingName(compression_)));
  }
  if (payload.request.valid())
    Append(headers, fmt::format("traceparent: {}", TraceparentOf(payload.request)));
  for (const auto& [name, value] : settings_.headers)
    Append(headers, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  Answer answer;
  curl_->error[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  const int code = Perform();
  if (code < 0) return {.result = {.kind = SendResult::Kind::kRetry, .message = "stopped"}};
  HttpReply reply{.body = std::move(answer.body), .body_cut = answer.received > kKeptBodyBytes};
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
  const bool answered =
      code == CURLE_OK || (code == CURLE_WRITE_ERROR && answer.received > kMaxBodyBytes);
  if (!answered || reply.status < 200)
    return {.result = JudgeLink(static_cast<CURLcode>(code), curl_->error, settings_, url)};
  reply.retry_after = HeaderOf(easy, "Retry-After");
  reply.location = HeaderOf(easy, "Location");
  reply.content_type = HeaderOf(easy, "Content-Type");
  HttpOutcome outcome = JudgeHttpReply(reply, std::time(nullptr), traits);
  if (outcome.result.kind == SendResult::Kind::kWrongProtocol)
    outcome.result.message = fmt::format("{}: {}", ShownUrl(url), outcome.result.message);
  return outcome;
}

// A receiver without zstd may take its bytes for a damaged batch (Pyroscope 2), so before the first
// that was taken any 400 may mean that.
bool HttpTransport::MustStepDown(const HttpOutcome& outcome) const {
  if (compression_ == ExportCompression::kNone) return false;
  const bool maybe = compression_ == ExportCompression::kZstd && !encoding_taken_ &&
                     outcome.status == 400 && outcome.result.kind == SendResult::Kind::kRejected;
  return outcome.encoding_refused || maybe;
}

SendResult HttpTransport::Send(const Payload& payload, std::chrono::milliseconds timeout) {
  if (cancelled_ || curl_->easy == nullptr || curl_->multi == nullptr)
    return {.kind = SendResult::Kind::kRetry,
            .message = cancelled_ ? "stopped" : "libcurl cannot start"};
  HttpOutcome outcome = Attempt(payload, timeout);
  if (payload.items != 0 && MustStepDown(outcome)) {
    // zstd steps down to gzip, which OTLP demands of every receiver; gzip to plain bytes.
    const char* before = EncodingName(compression_);
    compression_ = compression_ == ExportCompression::kZstd ? ExportCompression::kGzip
                                                            : ExportCompression::kNone;
    compressed_.clear();
    const std::string refusal = std::move(outcome.result.message);
    outcome = Attempt(payload, timeout);
    outcome.result.note =
        fmt::format("the receiver does not read {}, so requests go out {} from now on: {}", before,
                    compression_ == ExportCompression::kGzip ? "as gzip" : "uncompressed", refusal);
  }
  if (IsTaken(outcome.result) && payload.items != 0) encoding_taken_ = true;
  if (!MayComeAgain(outcome.result)) {
    compressed_ = std::string();
    compressed_owner_.reset();
  }
  HideHeaderValues(settings_.headers, outcome.result.message);
  HideHeaderValues(settings_.headers, outcome.result.note);
  return outcome.result;
}

void HttpTransport::Cancel() {
  cancelled_ = true;
  curl_multi_wakeup(curl_->multi);
}

}  // namespace stackray
