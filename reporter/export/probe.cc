#include "reporter/export/probe.h"

#include <memory>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

using Kind = SendResult::Kind;

// An ExportProfilesServiceRequest: 2 dictionary, each of its tables with its zero element.
constexpr std::string_view kEmptyRequest(
    "\x12\x0e\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x3a\x00", 16);

}  // namespace

ProbeResult Probe(Transport& transport, std::chrono::milliseconds timeout) {
  auto batch = std::make_shared<SealedBatch>();
  batch->bytes = kEmptyRequest;
  SendResult result = transport.Send(batch, timeout);
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
