#include "reporter/export/receiver_hints.h"

#include <algorithm>
#include <initializer_list>

namespace stackray {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower;
}

// A handshake with TLS 1.3 is over for the client before the server has seen that it has no
// certificate, so the server's refusal looks like a broken connection.
constexpr std::string_view kClientCertificateHint =
    " (does the receiver want to know its client? Then set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE "
    "and OTEL_EXPORTER_OTLP_CLIENT_KEY)";

}  // namespace

std::string LinkHint(const ReceiverSettings& settings, std::string_view original) {
  const std::string text = Lower(original);
  if (HasAny(text, {"certificate_verify_failed", "certificate verify failed",
                    "local issuer certificate", "self-signed certificate"}))
    return " (the receiver's certificate is not signed by a known authority: check "
           "OTEL_EXPORTER_OTLP_CERTIFICATE)";
  if (HasAny(text, {"wrong_version_number", "wrong version number"}))
    return " (the receiver speaks no TLS there: write the endpoint with http://)";
  const bool is_cut = HasAny(text, {"socket closed", "reset by peer", "broken pipe", "getpeername",
                                    "empty reply", "certificate required", "handshake",
                                    "unexpected eof", "connection closed", "recv failure"});
  if (!is_cut && HasAny(text, {"connection refused", "couldn't connect", "failed to connect"}))
    return " (nothing listens there; OTLP's usual ports are 4317 for gRPC and 4318 for HTTP)";
  if (!is_cut) return "";
  if (settings.endpoint.tls)
    return std::string(settings.client_certificate_file.empty() ? kClientCertificateHint
                                                                : std::string_view());
  return settings.protocol == ExportProtocol::kGrpc
             ? " (does the receiver want TLS? Then write the endpoint with https://. Does it speak "
               "HTTP there? Its usual port is 4318, gRPC's is 4317)"
             : " (does the receiver want TLS? Then write the endpoint with https://. Does it speak "
               "gRPC there? Its usual port is 4317, HTTP's is 4318)";
}

bool IsHtml(std::string_view content_type, std::string_view body) {
  if (Lower(content_type).starts_with("text/html")) return true;
  body.remove_prefix(std::min(body.find_first_not_of(" \t\r\n\xef\xbb\xbf"), body.size()));
  const std::string start = Lower(body.substr(0, 16));
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

}  // namespace stackray
