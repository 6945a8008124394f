#include "reporter/export/grpc_status.h"

#include <fmt/format.h>

#include "reporter/export/receiver_hints.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/size_errors.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const char* CodeName(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  return code >= 0 && code < static_cast<int>(std::size(kNames)) ? kNames[code] : "UNKNOWN";
}

// The server answered in HTTP/1, or in HTTP/2 without gRPC: it is another kind of server. The texts
// are those of gRPC's C core, which has no code for it.
bool IsOtherServer(const grpc::Status& status) {
  const std::string& text = status.error_message();
  if (Has(text, "http1.x server")) return true;
  if (status.error_code() == grpc::StatusCode::UNKNOWN && Has(text, "http2 header with status"))
    return true;
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         (Has(text, "Failed parsing HTTP/2") || Has(text, "connect an http1"));
}

bool SpeaksOfEncoding(const std::string& text) {
  return Has(text, "ompress") || Has(text, "grpc-encoding");
}

// Of a code that needs no look at the text.
Kind KindOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS: return Kind::kRetry;
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED: return Kind::kNoEntry;
    default: return Kind::kRejected;
  }
}

}  // namespace

GrpcOutcome JudgeGrpcStatus(const grpc::Status& status) {
  GrpcOutcome outcome;
  SendResult& result = outcome.result;
  const std::string& text = status.error_message();
  result.grpc_status = CodeName(status.error_code());
  result.message = fmt::format("gRPC {}: {}", CodeName(status.error_code()), SafeMessage(text));
  const std::optional<RpcStatus> details = ParseRpcStatus(status.error_details());
  const bool has_retry_info = details && details->retry_delay;
  if (has_retry_info && details->retry_delay->count() > 0)
    result.retry_after = details->retry_delay;

  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    outcome.encoding_refused = SpeaksOfEncoding(text);
    result.kind = outcome.encoding_refused ? Kind::kRejected : Kind::kWrongProtocol;
  } else if (IsOtherServer(status)) {
    result.kind = Kind::kWrongProtocol;
  } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    // Our own limit on answers has the same code; the request was read by then.
    const bool own_limit = Has(text, fmt::format("vs. {}", kMaxGrpcResponseBytes).c_str());
    const bool size = !has_retry_info && SpeaksOfRequestSize(text);
    result.kind = own_limit ? Kind::kRejected : size ? Kind::kTooLarge : Kind::kOverLimit;
    result.size_limit = result.kind == Kind::kTooLarge ? SizeLimitIn(text) : 0;
  } else {
    result.kind = KindOf(status.error_code());
    if (result.kind == Kind::kNoEntry) result.message += kCredentialsHint;
  }
  return outcome;
}

}  // namespace stackray
