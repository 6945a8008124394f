#include "reporter/export/response_parser.h"

#include <algorithm>

#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxResponseBytes = 1 << 20;  // What is behind is not read.
constexpr int64_t kMaxRetrySeconds = 86'400;

// Any{type_url = 1, value = 2} with RetryInfo{retry_delay = 1 Duration{seconds = 1, nanos = 2}}
// inside.
std::optional<std::chrono::milliseconds> ParseRetryInfo(std::string_view any) {
  std::string_view type, value, duration;
  EachField(any, [&](const WireField& field) {
    if (IsBytes(field, 1)) type = field.bytes;
    if (IsBytes(field, 2)) value = field.bytes;
    return true;
  });
  if (!type.ends_with("google.rpc.RetryInfo")) return std::nullopt;
  EachField(value, [&](const WireField& field) {
    if (IsBytes(field, 1)) duration = field.bytes;
    return true;
  });
  int64_t seconds = 0, nanoseconds = 0;
  EachField(duration, [&](const WireField& field) {
    if (IsNumber(field, 1)) seconds = static_cast<int64_t>(field.value);
    if (IsNumber(field, 2)) nanoseconds = static_cast<int32_t>(field.value);
    return true;
  });
  seconds = std::clamp<int64_t>(seconds, 0, kMaxRetrySeconds);
  nanoseconds = std::clamp<int64_t>(nanoseconds, 0, 999'999'999);
  return std::chrono::milliseconds(seconds * 1000 + nanoseconds / 1'000'000);
}

}  // namespace

std::optional<PartialSuccess> ParsePartialSuccess(std::string_view response, int rejected_field) {
  const auto rejected = static_cast<uint32_t>(rejected_field);
  std::optional<PartialSuccess> result;
  const bool good = EachField(response.substr(0, kMaxResponseBytes), [&](const WireField& field) {
    if (!IsBytes(field, 1)) return true;
    PartialSuccess partial;
    const bool is_whole = EachField(field.bytes, [&](const WireField& inner) {
      if (IsNumber(inner, rejected)) partial.rejected_units = static_cast<int64_t>(inner.value);
      if (IsBytes(inner, 2)) partial.message = SafeMessage(inner.bytes);
      return true;
    });
    if (partial.rejected_units != 0 || !partial.message.empty()) result = partial;
    return is_whole;
  });
  return good ? result : std::nullopt;
}

std::optional<RpcStatus> ParseRpcStatus(std::string_view status) {
  RpcStatus result;
  const bool good = EachField(status.substr(0, kMaxResponseBytes), [&](const WireField& field) {
    if (IsBytes(field, 2)) result.message = SafeMessage(field.bytes);
    if (IsBytes(field, 3) && !result.retry_delay) result.retry_delay = ParseRetryInfo(field.bytes);
    return true;
  });
  if (!good) return std::nullopt;
  return result;
}

std::string SafeMessage(std::string_view text) {
  std::string result(text.substr(0, kMaxMessageBytes));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return result;
}

}  // namespace stackray
