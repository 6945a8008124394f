#include <fmt/format.h>

#include <utility>
#include <vector>

#include "reporter/export/grpc_transport.h"
#include "reporter/export/http_transport.h"
#include "reporter/export/signal_traits.h"
#include "reporter/export/transport.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

constexpr uint16_t kGrpcPort = 4317;
constexpr uint16_t kHttpPort = 4318;

// The addresses where HTTP may be spoken when gRPC is not: the same one, and for gRPC's usual port
// its neighbour.
std::vector<ReceiverSettings> HttpAlternatives(const ReceiverSettings& settings) {
  ReceiverSettings http = settings;
  http.protocol = ExportProtocol::kHttpProtobuf;
  http.endpoint.http_path = std::string(TraitsOf(settings.endpoint.signal).http_path);
  http.endpoint.http_base = "";
  std::vector<ReceiverSettings> result = {http};
  if (settings.endpoint.port == kGrpcPort) {
    http.endpoint.port = kHttpPort;
    result.push_back(http);
  }
  return result;
}

bool IsTaken(const SendResult& result) {
  return result.kind == Kind::kDelivered || result.kind == Kind::kPartlyRejected;
}

// gRPC first. Data errors never lead to HTTP: only the lack of the protocol or of the service does.
class FallbackTransport : public Transport {
 public:
  explicit FallbackTransport(const ReceiverSettings& settings) : grpc_(settings) {
    for (const ReceiverSettings& http : HttpAlternatives(settings))
      http_.push_back(std::make_unique<HttpTransport>(http));
  }

  SendResult Send(const Payload& payload, std::chrono::milliseconds timeout) override {
    if (chosen_ != nullptr) return chosen_->Send(payload, timeout);
    const SendResult first = grpc_.Send(payload, timeout);
    if (first.kind != Kind::kWrongProtocol) return first;
    return TryHttp(first, payload, timeout);
  }

  void Cancel() override {
    grpc_.Cancel();
    for (const std::unique_ptr<HttpTransport>& http : http_) http->Cancel();
  }

 private:
  SendResult TryHttp(const SendResult& grpc, const Payload& payload,
                     std::chrono::milliseconds timeout) {
    std::string tried;
    for (const std::unique_ptr<HttpTransport>& http : http_) {
      SendResult result = http->Send(payload, timeout);
      if (IsTaken(result)) chosen_ = http.get();
      // An HTTP server with something at that URL has judged the batch; a dead link has not.
      if (result.answered && result.kind != Kind::kWrongProtocol) return result;
      tried += fmt::format("; {}", result.message);
    }
    SendResult result = grpc;
    result.message =
        fmt::format("no {} service by gRPC ({}) nor by HTTP ({})", TraitsOf(payload.signal).units,
                    grpc.message, tried.empty() ? tried : tried.substr(2));
    return result;
  }

  GrpcTransport grpc_;
  std::vector<std::unique_ptr<HttpTransport>> http_;
  HttpTransport* chosen_ = nullptr;  // One of http_, once it has delivered.
};

}  // namespace

std::unique_ptr<Transport> MakeTransport(const ReceiverSettings& settings) {
  if (settings.protocol == ExportProtocol::kHttpProtobuf)
    return std::make_unique<HttpTransport>(settings);
  return std::make_unique<FallbackTransport>(settings);
}

}  // namespace stackray
