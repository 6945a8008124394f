#include "reporter/export/receiver_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reporter/export/response_parser.h"
#include "reporter/spool/spool_directory.h"

namespace stackray {
namespace {

bool LooksSecret(std::string_view name) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"auth", "key", "token", "secret", "password",
                                              "cookie", "credential", "signature"},
      [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

}  // namespace

std::string ReceiverIdentity(const ReceiverSettings& settings) {
  const ReceiverEndpoint& endpoint = settings.endpoint;
  const bool grpc = settings.protocol == ExportProtocol::kGrpc;
  const std::string_view scheme =
      grpc ? (endpoint.tls ? "grpcs" : "grpc") : (endpoint.tls ? "https" : "http");
  const std::string_view path = grpc ? std::string_view() : std::string_view(endpoint.http_path);
  const size_t query = std::min(path.find('?'), path.size());
  std::string hidden(path.substr(query));
  HeaderList headers = settings.headers;
  std::ranges::sort(headers);
  for (const auto& [name, value] : headers)
    if (!LooksSecret(name)) hidden += fmt::format("\n{}={}", name, value);
  std::string result =
      fmt::format("{}://{}{}", scheme, endpoint.Authority(), path.substr(0, query));
  if (!hidden.empty()) result += " headers=" + SpoolFolderName(hidden);
  return SafeMessage(result);
}

}  // namespace stackray
