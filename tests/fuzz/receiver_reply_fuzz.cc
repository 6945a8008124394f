// libs: stackray_export
// What a receiver answers, by HTTP and by gRPC: any bytes as body, as error details and as headers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reporter/export/http_reply.h"
#include "reporter/export/response_parser.h"

namespace {

constexpr size_t kMaxMessageBytes = 1 << 10;
constexpr auto kMaxDelay = std::chrono::hours(24);

// It goes into the log and to a terminal.
void CheckMessage(std::string_view message, size_t max_bytes) {
  if (message.size() > max_bytes) std::abort();
  for (const char c : message)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto partial = stackray::ParsePartialSuccess(text, 1); partial)
    CheckMessage(partial->message, kMaxMessageBytes);
  if (const auto status = stackray::ParseRpcStatus(text); status) {
    CheckMessage(status->message, kMaxMessageBytes);
    if (status->retry_delay && status->retry_delay->count() < 0) std::abort();
  }
  CheckMessage(stackray::SafeMessage(text), kMaxMessageBytes);
  for (const std::time_t now : {std::time_t{0}, std::time_t{1'800'000'000}}) {
    const auto delay = stackray::ParseRetryAfter(text, now);
    if (delay && (delay->count() < 0 || *delay > kMaxDelay)) std::abort();
  }
  if (size < 2) return 0;
  stackray::HttpReply reply;
  reply.status = 100 + (data[0] | data[1] << 8) % 500;
  reply.body = text.substr(2);
  reply.retry_after = text.substr(2, 40);
  reply.location = text.substr(2);
  for (const char* type : {"application/x-protobuf", "text/html", ""}) {
    reply.content_type = type;
    const stackray::HttpOutcome outcome = stackray::JudgeHttpReply(reply, 1'800'000'000);
    CheckMessage(outcome.result.message, 4 * kMaxMessageBytes);
    if (!outcome.result.answered) std::abort();
  }
  return 0;
}
