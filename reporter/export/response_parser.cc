#include "reporter/export/response_parser.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

namespace stackray {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr size_t kMaxMessageBytes = 1024;
constexpr int64_t kMaxRetrySeconds = 86'400;

struct Field {
  int number = 0;
  uint64_t varint = 0;
  std::string_view bytes;  // Of a length-delimited field, within the parsed text.
  bool is_bytes = false;
};

// Walks a message's fields. Next() returns false at its end or at the first damage; damaged()
// tells.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message)
      : message_(message.substr(0, 1 << 20)),
        stream_(reinterpret_cast<const uint8_t*>(message_.data()),
                static_cast<int>(message_.size())) {}

  bool Next(Field& field) {
    const uint32_t tag = stream_.ReadTag();
    if (tag == 0) return End(stream_.ConsumedEntireMessage());
    field = Field{.number = WireFormatLite::GetTagFieldNumber(tag)};
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return stream_.ReadVarint64(&field.varint) || End(false);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: return ReadBytes(field) || End(false);
      default: return WireFormatLite::SkipField(&stream_, tag) || End(false);
    }
  }
  bool damaged() const { return damaged_; }

 private:
  bool End(bool clean) {
    damaged_ = !clean;
    return false;
  }

  bool ReadBytes(Field& field) {
    uint32_t size = 0;
    if (!stream_.ReadVarint32(&size)) return false;
    const size_t start = static_cast<size_t>(stream_.CurrentPosition());
    if (size > message_.size() - start) return false;
    field.bytes = message_.substr(start, size);
    field.is_bytes = true;
    return stream_.Skip(static_cast<int>(size));
  }

  const std::string_view message_;
  CodedInputStream stream_;
  bool damaged_ = false;
};

// Any{type_url = 1, value = 2} with RetryInfo{retry_delay = 1 Duration{seconds = 1, nanos = 2}}
// inside.
std::optional<std::chrono::milliseconds> ParseRetryInfo(std::string_view any) {
  Field field;
  std::string_view type, value, duration;
  for (FieldReader reader(any); reader.Next(field);) {
    if (field.number == 1 && field.is_bytes) type = field.bytes;
    if (field.number == 2 && field.is_bytes) value = field.bytes;
  }
  constexpr std::string_view kType = "google.rpc.RetryInfo";
  if (type.size() < kType.size() || type.substr(type.size() - kType.size()) != kType)
    return std::nullopt;
  for (FieldReader reader(value); reader.Next(field);)
    if (field.number == 1 && field.is_bytes) duration = field.bytes;
  int64_t seconds = 0, nanoseconds = 0;
  for (FieldReader reader(duration); reader.Next(field);) {
    if (field.number == 1 && !field.is_bytes) seconds = static_cast<int64_t>(field.varint);
    if (field.number == 2 && !field.is_bytes) nanoseconds = static_cast<int32_t>(field.varint);
  }
  seconds = std::clamp<int64_t>(seconds, 0, kMaxRetrySeconds);
  nanoseconds = std::clamp<int64_t>(nanoseconds, 0, 999'999'999);
  return std::chrono::milliseconds(seconds * 1000 + nanoseconds / 1'000'000);
}

}  // namespace

std::optional<PartialSuccess> ParsePartialSuccess(std::string_view response, int rejected_field) {
  std::optional<PartialSuccess> result;
  Field field;
  FieldReader reader(response);
  while (reader.Next(field)) {
    if (field.number != 1 || !field.is_bytes) continue;
    PartialSuccess partial;
    Field inner;
    FieldReader inner_reader(field.bytes);
    while (inner_reader.Next(inner)) {
      if (inner.number == rejected_field && !inner.is_bytes)
        partial.rejected_units = static_cast<int64_t>(inner.varint);
      if (inner.number == 2 && inner.is_bytes) partial.message = SafeMessage(inner.bytes);
    }
    if (inner_reader.damaged()) return std::nullopt;
    if (partial.rejected_units != 0 || !partial.message.empty()) result = partial;
  }
  if (reader.damaged()) return std::nullopt;
  return result;
}

std::optional<RpcStatus> ParseRpcStatus(std::string_view status) {
  RpcStatus result;
  Field field;
  FieldReader reader(status);
  while (reader.Next(field)) {
    if (!field.is_bytes) continue;
    if (field.number == 2) result.message = SafeMessage(field.bytes);
    if (field.number == 3 && !result.retry_delay) result.retry_delay = ParseRetryInfo(field.bytes);
  }
  if (reader.damaged()) return std::nullopt;
  return result;
}

std::string SafeMessage(std::string_view text) {
  std::string result(text.substr(0, kMaxMessageBytes));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return result;
}

}  // namespace stackray
