#include "reporter/export/receiver_settings.h"

#include <fmt/format.h>

#include <charconv>

#include "reporter/export/receiver_headers.h"
#include "reporter/export/signal_traits.h"
#include "reporter/export/tls_files.h"

namespace stackray {
namespace {

enum class Source { kDefault, kGenericVariable, kSignalVariable, kCommandLine };

struct Value {
  std::string text;
  Source source = Source::kDefault;
  std::string name;  // Of the flag or variable, for messages.
};

absl::Status Prefixed(const Value& value, const absl::Status& status) {
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", value.name, std::string(status.message())));
}

absl::Status Bad(const Value& value, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("{}: \"{}\" is not understood; use {}", value.name, value.text, expected));
}

class Lookup {
 public:
  Lookup(const EnvironmentLookup& getenv, const std::map<std::string, std::string>& names,
         Signal signal)
      : getenv_(getenv), names_(names), signal_(signal) {}
  Signal signal() const { return signal_; }

  // `suffix` as in OTEL_EXPORTER_OTLP_<suffix>; `flag` names the command line's in messages.
  Value Get(const std::string& suffix, const std::optional<std::string>& override_text,
            const std::string& flag, const std::string& default_text) const {
    if (override_text) {
      const auto name = names_.find(flag);
      return {*override_text, Source::kCommandLine, name == names_.end() ? flag : name->second};
    }
    for (const Source source : {Source::kSignalVariable, Source::kGenericVariable}) {
      const std::string own = fmt::format("{}_", TraitsOf(signal_).variable);
      const std::string name = fmt::format("OTEL_EXPORTER_OTLP_{}{}",
                                           source == Source::kSignalVariable ? own : "", suffix);
      const char* text = getenv_(name.c_str());
      if (text != nullptr && *text != '\0') return {text, source, name};
    }
    return {default_text, Source::kDefault, "default of " + flag};
  }

 private:
  const EnvironmentLookup& getenv_;
  const std::map<std::string, std::string>& names_;
  const Signal signal_;
};

absl::StatusOr<ExportProtocol> ParseProtocol(const Value& value) {
  if (value.text == "grpc") return ExportProtocol::kGrpc;
  if (value.text == "http/protobuf") return ExportProtocol::kHttpProtobuf;
  return Bad(value, "grpc or http/protobuf");
}

absl::StatusOr<ExportCompression> ParseCompression(const Value& value) {
  if (value.text == "gzip") return ExportCompression::kGzip;
  if (value.text == "none") return ExportCompression::kNone;
  if (value.text == "zstd") return ExportCompression::kZstd;
  return Bad(value, "gzip, zstd or none");
}

absl::StatusOr<std::chrono::milliseconds> ParseTimeout(const Value& value) {
  constexpr int64_t kMaxMs = 3'600'000;
  int64_t milliseconds = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, milliseconds);
  if (error != std::errc() || stop != end || milliseconds < 1 || milliseconds > kMaxMs)
    return Bad(value, "whole milliseconds from 1 to 3600000, such as 10000");
  return std::chrono::milliseconds(milliseconds);
}

absl::StatusOr<bool> ParseInsecure(const Value& value) {
  std::string text = value.text;
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (text == "true") return true;
  if (text == "false") return false;
  return Bad(value, "true or false");
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

absl::Status ReadEndpoint(const Lookup& lookup, const ReceiverOverrides& overrides,
                          ReceiverSettings& settings) {
  std::optional<std::string> insecure_text;
  if (overrides.insecure) insecure_text = *overrides.insecure ? "true" : "false";
  const Value insecure_value = lookup.Get("INSECURE", insecure_text, "--insecure", "false");
  const absl::StatusOr<bool> insecure = ParseInsecure(insecure_value);
  if (!insecure.ok()) return insecure.status();

  EndpointRules rules;
  rules.http = settings.protocol == ExportProtocol::kHttpProtobuf;
  rules.insecure = *insecure;
  rules.signal = lookup.signal();
  const Value value = lookup.Get("ENDPOINT", overrides.endpoint, "--endpoint",
                                 rules.http ? "http://localhost:4318" : "http://localhost:4317");
  rules.used_as_it_is = value.source == Source::kSignalVariable ||
                        (value.source == Source::kCommandLine &&
                         EndsWith(value.text, TraitsOf(lookup.signal()).http_path));
  absl::StatusOr<ReceiverEndpoint> endpoint = ParseEndpoint(value.text, rules);
  if (!endpoint.ok()) return Prefixed(value, endpoint.status());
  settings.endpoint = *std::move(endpoint);
  settings.endpoint_given = value.source != Source::kDefault;
  return absl::OkStatus();
}

absl::Status ReadTlsFile(const Value& value, const std::string& what, std::string& path) {
  if (value.text.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> bytes = ReadPemFile(value.text, what);
  if (!bytes.ok()) return Prefixed(value, bytes.status());
  path = value.text;
  return absl::OkStatus();
}

absl::Status ReadTls(const Lookup& lookup, const ReceiverOverrides& overrides,
                     ReceiverSettings& settings) {
  const Value ca = lookup.Get("CERTIFICATE", overrides.ca_certificate_file, "--certificate", "");
  const Value certificate = lookup.Get("CLIENT_CERTIFICATE", overrides.client_certificate_file,
                                       "--client-certificate", "");
  const Value key = lookup.Get("CLIENT_KEY", overrides.client_key_file, "--client-key", "");
  if (absl::Status status = ReadTlsFile(ca, "CA certificate", settings.ca_certificate_file);
      !status.ok())
    return status;
  if (absl::Status status =
          ReadTlsFile(certificate, "client certificate", settings.client_certificate_file);
      !status.ok())
    return status;
  if (absl::Status status = ReadTlsFile(key, "client key", settings.client_key_file); !status.ok())
    return status;
  if (certificate.text.empty() == key.text.empty()) return absl::OkStatus();
  const Value& there = certificate.text.empty() ? key : certificate;
  return absl::InvalidArgumentError(fmt::format(
      "{}: a client certificate and its key belong together; set {} as well", there.name,
      certificate.text.empty() ? "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
                               : "OTEL_EXPORTER_OTLP_CLIENT_KEY"));
}

}  // namespace

absl::StatusOr<ReceiverSettings> ReceiverSettingsFromEnvironment(const EnvironmentLookup& getenv,
                                                                 const ReceiverOverrides& overrides,
                                                                 Signal signal) {
  const Lookup lookup(getenv, overrides.names, signal);
  ReceiverSettings settings;
  const absl::StatusOr<ExportProtocol> protocol =
      ParseProtocol(lookup.Get("PROTOCOL", overrides.protocol, "--protocol", "grpc"));
  if (!protocol.ok()) return protocol.status();
  settings.protocol = *protocol;
  const absl::StatusOr<ExportCompression> compression =
      ParseCompression(lookup.Get("COMPRESSION", overrides.compression, "--compression", "gzip"));
  if (!compression.ok()) return compression.status();
  settings.compression = *compression;
  const absl::StatusOr<std::chrono::milliseconds> timeout =
      ParseTimeout(lookup.Get("TIMEOUT", overrides.timeout, "--timeout", "10000"));
  if (!timeout.ok()) return timeout.status();
  settings.timeout = *timeout;
  const Value header_value = lookup.Get("HEADERS", overrides.headers, "--headers", "");
  absl::StatusOr<HeaderList> headers = ParseHeaders(header_value.text);
  if (!headers.ok()) return Prefixed(header_value, headers.status());
  settings.headers = *std::move(headers);
  if (absl::Status status = ReadEndpoint(lookup, overrides, settings); !status.ok()) return status;
  if (absl::Status status = ReadTls(lookup, overrides, settings); !status.ok()) return status;
  return settings;
}

}  // namespace stackray
