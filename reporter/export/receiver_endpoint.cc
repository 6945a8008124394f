#include "reporter/export/receiver_endpoint.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "reporter/export/signal_traits.h"
#include "reporter/shown_url.h"

namespace stackray {
namespace {

constexpr uint16_t kGrpcPort = 4317;
constexpr uint16_t kHttpPort = 4318;
constexpr size_t kMaxUrlBytes = 4096;
constexpr char kNoHost[] = "no host; write http://HOST:PORT";

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, UrlDeleter>;

// Empty where the part is absent.
std::string UrlPart(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK || text == nullptr) return {};
  std::string result = text;
  curl_free(text);
  return result;
}

absl::Status Invalid(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("endpoint \"{}\": {}", ShownUrl(text), why));
}

absl::Status CheckScheme(std::string_view text, std::string_view scheme) {
  if (scheme == "http" || scheme == "https") return absl::OkStatus();
  return Invalid(text, fmt::format("scheme \"{}\" is not spoken here; write http://HOST:PORT, or "
                                   "https://HOST:PORT for an encrypted link",
                                   scheme));
}

// The URL with its scheme; what surrounds a bare host:port is added.
std::string WithScheme(std::string_view text, const EndpointRules& rules) {
  if (text.find("://") != std::string_view::npos) return std::string(text);
  return fmt::format("{}://{}", rules.insecure ? "http" : "https", text);
}

absl::Status SetHttpPath(CURLU* url, std::string_view text, const EndpointRules& rules,
                         ReceiverEndpoint& endpoint) {
  std::string path = UrlPart(url, CURLUPART_PATH);
  const std::string query = UrlPart(url, CURLUPART_QUERY);
  if (path.empty()) path = "/";
  if (!rules.http) {
    endpoint.http_path = path;
    if (path == "/" && query.empty()) return absl::OkStatus();
    return Invalid(
        text, "gRPC takes no path; write http://HOST:PORT, or choose the protocol http/protobuf");
  }
  if (rules.used_as_it_is) {
    endpoint.http_path = query.empty() ? path : path + "?" + query;
    return absl::OkStatus();
  }
  if (!query.empty())
    return Invalid(text, fmt::format("a base URL cannot have a query; give the whole URL in "
                                     "OTEL_EXPORTER_OTLP_{}_ENDPOINT",
                                     TraitsOf(rules.signal).variable));
  while (!path.empty() && path.back() == '/') path.pop_back();
  endpoint.http_path = path + std::string(TraitsOf(rules.signal).http_path);
  endpoint.http_base = std::move(path);
  return absl::OkStatus();
}

}  // namespace

std::string ReceiverEndpoint::Authority() const { return fmt::format("{}:{}", host, port); }

std::string ReceiverEndpoint::Url() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", Authority(), http_path);
}

std::string ReceiverEndpoint::Url(const SignalTraits& traits) const {
  if (traits.signal == signal) return Url();
  if (!http_base) return {};
  return fmt::format("{}://{}{}{}", tls ? "https" : "http", Authority(), *http_base,
                     traits.http_path);
}

absl::StatusOr<ReceiverEndpoint> ParseEndpoint(std::string_view text, const EndpointRules& rules) {
  if (text.size() > kMaxUrlBytes)
    return absl::InvalidArgumentError("endpoint: longer than 4096 bytes");
  if (const size_t colon = text.find("://"); colon != std::string_view::npos) {
    // Before the URL is taken apart, so that the message is about the scheme.
    std::string scheme(text.substr(0, colon));
    for (char& c : scheme) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (absl::Status status = CheckScheme(text, scheme); !status.ok()) return status;
    // libcurl forgives "http:///path" and takes the path for the host.
    if (text.size() > colon + 3 && text[colon + 3] == '/') return Invalid(text, kNoHost);
  }
  UrlHandle url(curl_url());
  const std::string whole = WithScheme(text, rules);
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), 0);
  if (code == CURLUE_NO_HOST) return Invalid(text, kNoHost);
  if (code == CURLUE_BAD_PORT_NUMBER)
    return Invalid(text, "the port must be a number from 1 to 65535");
  if (code != CURLUE_OK)
    return Invalid(text, fmt::format("{}; write http://HOST:PORT", curl_url_strerror(code)));
  if (!UrlPart(url.get(), CURLUPART_USER).empty() ||
      !UrlPart(url.get(), CURLUPART_PASSWORD).empty())
    return absl::InvalidArgumentError(
        "endpoint: user and password do not belong into the address; send them as a header "
        "(OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20…)");
  if (!UrlPart(url.get(), CURLUPART_FRAGMENT).empty())
    return Invalid(text, "a '#' part has no meaning here; leave it out");
  ReceiverEndpoint endpoint;
  endpoint.signal = rules.signal;
  endpoint.tls = UrlPart(url.get(), CURLUPART_SCHEME) == "https";
  endpoint.host = UrlPart(url.get(), CURLUPART_HOST);
  if (endpoint.host.empty()) return Invalid(text, kNoHost);
  const std::string port = UrlPart(url.get(), CURLUPART_PORT);
  endpoint.port = port.empty() ? (rules.http ? kHttpPort : kGrpcPort)
                               : static_cast<uint16_t>(std::strtoul(port.c_str(), nullptr, 10));
  if (endpoint.port == 0) return Invalid(text, "the port must be a number from 1 to 65535");
  if (absl::Status path = SetHttpPath(url.get(), text, rules, endpoint); !path.ok()) return path;
  return endpoint;
}

}  // namespace stackray
