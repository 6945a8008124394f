#include "reporter/export/http_reply.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "reporter/export/receiver_hints.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/size_errors.h"
#include "reporter/shown_url.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

constexpr int64_t kMaxRetrySeconds = 86'400;

bool IsProtobuf(const HttpReply& reply) {
  return reply.content_type.rfind("application/x-protobuf", 0) == 0;
}

SendResult JudgeSuccess(const HttpReply& reply, const SignalTraits& traits) {
  SendResult result{.kind = Kind::kDelivered};
  if (IsHtml(reply.content_type, reply.body)) {
    result.kind = Kind::kWrongProtocol;
    result.message = fmt::format("HTTP {}: a web page, which is no answer of OTLP{}", reply.status,
                                 traits.no_service_hint);
    return result;
  }
  if (!IsProtobuf(reply) || reply.body_cut) return result;
  if (const std::optional<PartialSuccess> partial =
          ParsePartialSuccess(reply.body, traits.rejected_field)) {
    if (partial->rejected_units > 0) result.kind = Kind::kPartlyRejected;
    result.rejected_units = partial->rejected_units;
    result.message = partial->message;
  }
  return result;
}

// The error's own text: the message of a google.rpc.Status, or the start of what else it is.
std::string ErrorText(const HttpReply& reply, std::optional<RpcStatus>& details) {
  if (IsProtobuf(reply)) {
    details = ParseRpcStatus(reply.body);
    return details ? details->message : "";
  }
  if (IsHtml(reply.content_type, reply.body)) return "a web page, which is no answer of OTLP";
  return SafeMessage(std::string_view(reply.body).substr(0, 200));
}

Kind JudgeError(long status, const std::string& text) {
  switch (status) {
    case 502:
    case 503:
    case 504: return Kind::kRetry;
    case 429: return Kind::kOverLimit;
    case 401:
    case 403: return Kind::kNoEntry;
    case 413: return Kind::kTooLarge;
    case 400:
      return SpeaksOfRequestSize(text)   ? Kind::kTooLarge
             : SpeaksOfProfileSize(text) ? Kind::kOverLimit
                                         : Kind::kRejected;
    case 404:
    case 405:
    case 426:
    case 505: return Kind::kWrongProtocol;
    default: return Kind::kRejected;
  }
}

std::string Hint(const HttpReply& reply, const SignalTraits& traits) {
  if (reply.status / 100 == 3)
    return fmt::format(" (redirects are not followed; the receiver points to {})",
                       SafeMessage(ShownUrl(reply.location)));
  if (reply.status == 404 || reply.status == 405) return std::string(traits.no_service_hint);
  if (reply.status == 400 && reply.body.find("HTTPS") != std::string::npos)
    return " (the receiver wants TLS: write the endpoint with https://)";
  if (reply.status == 401 || reply.status == 403) return std::string(kCredentialsHint);
  return "";
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value, std::time_t now) {
  int64_t seconds = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc() || stop != end) {
    const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    seconds = date - now;
  }
  if (seconds <= 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kMaxRetrySeconds));
}

HttpOutcome JudgeHttpReply(const HttpReply& reply, std::time_t now, const SignalTraits& traits) {
  HttpOutcome outcome{.result = {}, .status = reply.status};
  const int status = static_cast<int>(reply.status);
  if (reply.status / 100 == 2) {
    outcome.result = JudgeSuccess(reply, traits);
    outcome.result.http_status = status;
    outcome.result.answered = true;
    return outcome;
  }
  SendResult& result = outcome.result;
  result.answered = true;
  result.http_status = status;
  std::optional<RpcStatus> details;
  const std::string text = ErrorText(reply, details);
  result.kind = JudgeError(reply.status, text);
  result.message = fmt::format("HTTP {}{}{}{}", reply.status, text.empty() ? "" : ": ", text,
                               Hint(reply, traits));
  outcome.encoding_refused =
      reply.status == 415 || (reply.status == 400 && text.find("ncoding") != std::string::npos);
  if (result.kind == Kind::kTooLarge) result.size_limit = SizeLimitIn(text);
  if (result.kind == Kind::kRetry || result.kind == Kind::kOverLimit ||
      result.kind == Kind::kNoEntry) {
    result.retry_after = ParseRetryAfter(reply.retry_after, now);
    if (!result.retry_after && details && details->retry_delay && details->retry_delay->count() > 0)
      result.retry_after = details->retry_delay;
  }
  return outcome;
}

}  // namespace stackray
