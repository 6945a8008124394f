// A receiver's address, taken apart and checked.
#ifndef STACKRAY_REPORTER_EXPORT_RECEIVER_ENDPOINT_H_
#define STACKRAY_REPORTER_EXPORT_RECEIVER_ENDPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/export/payload.h"

namespace stackray {

struct SignalTraits;

inline constexpr std::string_view kProfilesPath = "/v1development/profiles";

struct ReceiverEndpoint {
  bool tls = false;
  std::string host;  // IPv6 in brackets.
  uint16_t port = 0;
  // Of `signal`. Starts with '/', with the query where there is one. gRPC does not use it.
  std::string http_path;
  // What the paths of all signals stand behind: empty or a path without '/' at its end. Nothing:
  // the address is that of `signal` alone.
  std::optional<std::string> http_base;
  Signal signal = Signal::kProfiles;  // Whose settings these are.

  std::string Authority() const;  // host:port
  std::string Url() const;        // For HTTP, of `signal`.
  // Empty: not known.
  std::string Url(const SignalTraits& traits) const;

  friend bool operator==(const ReceiverEndpoint&, const ReceiverEndpoint&) = default;
};

struct EndpointRules {
  bool http = false;           // Else gRPC: no path allowed, port 4317 when absent, 4318 for HTTP.
  bool used_as_it_is = false;  // HTTP: the path is complete already.
  bool insecure = false;       // For a text without scheme: http instead of https.
  Signal signal = Signal::kProfiles;
};

// `text` is http://…, https://…, or host[:port]. Errors: InvalidArgument, saying what to write
// instead, without the name of the variable or flag it came from.
absl::StatusOr<ReceiverEndpoint> ParseEndpoint(std::string_view text, const EndpointRules& rules);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RECEIVER_ENDPOINT_H_
