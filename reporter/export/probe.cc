#include "reporter/export/probe.h"

#include <string>
#include <utility>

namespace stackray {
namespace {

using Kind = SendResult::Kind;

}  // namespace

ProbeResult Probe(Transport& transport, const SignalTraits& traits,
                  std::chrono::milliseconds timeout) {
  SendResult result =
      transport.Send(Payload::Of(traits.signal, std::string(traits.empty_request), 0), timeout);
  switch (result.kind) {
    case Kind::kDelivered:
    case Kind::kPartlyRejected:
    case Kind::kOverLimit:
    case Kind::kTooLarge:
    case Kind::kRejected: return {.answers = true, .message = {}};
    case Kind::kRetry:
    case Kind::kNoEntry:
    case Kind::kWrongProtocol: break;
  }
  return {.answers = false, .message = std::move(result.message)};
}

}  // namespace stackray
