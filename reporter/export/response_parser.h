// The two small messages that a receiver answers with, read from the wire without generated
// classes. Input is foreign: any bytes give a result or nothing, in time linear in their number.
// Layouts: ExportProfilesServiceResponse of opentelemetry-proto, google.rpc.Status and RetryInfo of
// the public googleapis protos.
#ifndef STACKRAY_REPORTER_EXPORT_RESPONSE_PARSER_H_
#define STACKRAY_REPORTER_EXPORT_RESPONSE_PARSER_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

struct PartialSuccess {
  int64_t rejected_units = 0;  // Profiles, spans: signal_traits.h.
  std::string message;         // At most 1 KiB; without rejected units it is a warning.
};

// ExportProfilesServiceResponse, or another signal's: all have partial_success = 1 and in it the
// number of rejected units, here `rejected_field`, and error_message = 2. Nothing when it has no
// partial_success, or an empty one, or is damaged.
std::optional<PartialSuccess> ParsePartialSuccess(std::string_view response, int rejected_field);

struct RpcStatus {
  std::string message;                                   // At most 1 KiB.
  std::optional<std::chrono::milliseconds> retry_delay;  // There is a RetryInfo; zero: at will.
};

// google.rpc.Status, as in gRPC's error details and the body of an HTTP error.
std::optional<RpcStatus> ParseRpcStatus(std::string_view status);

// `text` for a log: printable, one line, at most 1 KiB.
std::string SafeMessage(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RESPONSE_PARSER_H_
