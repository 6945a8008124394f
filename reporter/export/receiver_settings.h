// Where a receiver is and how to talk to it, from the command line and OTEL_EXPORTER_OTLP_*.
//
// Which setting wins: command line > OTEL_EXPORTER_OTLP_PROFILES_* > OTEL_EXPORTER_OTLP_* >
// default; of traces OTEL_EXPORTER_OTLP_TRACES_*. An empty variable counts as unset. A generic HTTP
// endpoint is a base URL, to which /v1development/profiles or /v1/traces is added; the signal's own
// one is used as it is.
#ifndef STACKRAY_REPORTER_EXPORT_RECEIVER_SETTINGS_H_
#define STACKRAY_REPORTER_EXPORT_RECEIVER_SETTINGS_H_

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/export/receiver_endpoint.h"

namespace stackray {

enum class ExportProtocol { kGrpc, kHttpProtobuf };
// kZstd goes out as gzip where the wire or the receiver knows no zstd: always so by gRPC.
enum class ExportCompression { kNone, kGzip, kZstd };
using HeaderList = std::vector<std::pair<std::string, std::string>>;  // Names in lower case.

struct ReceiverSettings {
  ExportProtocol protocol = ExportProtocol::kGrpc;
  ReceiverEndpoint endpoint;    // Says whether the link is encrypted.
  bool endpoint_given = false;  // False: nobody named a receiver, and this is the default one.
  HeaderList headers;           // Secrets live here: never log the values.
  ExportCompression compression = ExportCompression::kGzip;
  std::chrono::milliseconds timeout{10'000};  // Of one attempt.
  std::string ca_certificate_file;            // PEM; empty: the system's.
  std::string client_certificate_file;        // PEM; both or neither of these two.
  std::string client_key_file;
  std::string user_agent = "stackray";

  friend bool operator==(const ReceiverSettings&, const ReceiverSettings&) = default;
};

// What the command line or the configuration file says; unset members leave the question to the
// environment.
struct ReceiverOverrides {
  std::optional<std::string>
      endpoint;  // A base URL, or one that already ends in the profiles path.
  std::optional<std::string> protocol, headers, compression, timeout;  // In the variables' syntax.
  std::optional<std::string> ca_certificate_file, client_certificate_file, client_key_file;
  std::optional<bool> insecure;
  // How messages call what is set above, by its flag: {"--endpoint", "stackray.yaml:3: endpoint"};
  // the flag itself where it is not in here.
  std::map<std::string, std::string> names;
};

// Returns nullptr for an unset variable, as ::getenv does.
using EnvironmentLookup = std::function<const char*(const char* name)>;

// Errors: InvalidArgument, naming the flag or variable, what is wrong and what to write instead.
// Opens the certificate and key files to see that they can be read, and keeps only their paths.
absl::StatusOr<ReceiverSettings> ReceiverSettingsFromEnvironment(const EnvironmentLookup& getenv,
                                                                 const ReceiverOverrides& overrides,
                                                                 Signal signal = Signal::kProfiles);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RECEIVER_SETTINGS_H_
