#include "reporter/formats/otlp_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "absl/strings/escaping.h"
#include "reporter/formats/otlp_json_schema.h"
#include "reporter/formats/text.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

// Debian's absl::string_view is a type of its own.
absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

constexpr int kMaxDepth = 100;  // As protobuf's own parsers.

WireType WireTypeOf(JsonKind kind) {
  switch (kind) {
    case JsonKind::kMessage:
    case JsonKind::kText:
    case JsonKind::kBase64:
    case JsonKind::kHex: return WireType::kBytes;
    case JsonKind::kFixed64:
    case JsonKind::kDouble: return WireType::kFixed64;
    default: return WireType::kVarint;
  }
}

// JSON has no infinities; protobuf spells them as strings.
void AppendDouble(double number, std::string* out) {
  if (std::isnan(number)) {
    *out += "\"NaN\"";
  } else if (std::isinf(number)) {
    *out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    fmt::format_to(std::back_inserter(*out), "{}", number);
  }
}

void AppendScalar(JsonKind kind, uint64_t value, std::string* out) {
  switch (kind) {
    case JsonKind::kBool: *out += value != 0 ? "true" : "false"; return;
    case JsonKind::kInt32: AppendAll(out, static_cast<int32_t>(value)); return;
    case JsonKind::kUint32: AppendAll(out, static_cast<uint32_t>(value)); return;
    case JsonKind::kInt64: AppendAll(out, "\"", static_cast<int64_t>(value), "\""); return;
    case JsonKind::kDouble: AppendDouble(std::bit_cast<double>(value), out); return;
    default: AppendAll(out, "\"", value, "\""); return;
  }
}

class JsonWriter {
 public:
  bool Message(const JsonMessage& message, std::string_view bytes, int depth);
  std::string TakeText() && { return std::move(out_); }

 private:
  using Fields = std::vector<WireField>;

  bool Field(const JsonField& field, std::span<const WireField> values, int depth);
  bool Value(const JsonField& field, const WireField& value, int depth, bool* first);
  bool Packed(const JsonField& field, std::string_view bytes, bool* first);
  void Comma(bool* first) {
    if (!*first) out_ += ',';
    *first = false;
  }

  std::string out_;
};

// Collects the fields first: the elements of a repeated field need not stand together on the wire.
bool JsonWriter::Message(const JsonMessage& message, std::string_view bytes, int depth) {
  if (depth > kMaxDepth) return false;
  Fields fields;
  WireReader reader(bytes);
  while (!reader.done()) {
    if (!reader.Next(&fields.emplace_back())) return false;
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const WireField& a, const WireField& b) { return a.number < b.number; });
  out_ += '{';
  bool first = true;
  for (const JsonField& field : message.fields) {
    const auto values = std::equal_range(
        fields.begin(), fields.end(), WireField{.number = field.number},
        [](const WireField& a, const WireField& b) { return a.number < b.number; });
    if (values.first == values.second) continue;
    Comma(&first);
    AppendAll(&out_, "\"", field.name, "\":");
    if (!Field(field, std::span(values.first, values.second), depth)) return false;
  }
  out_ += '}';
  return true;
}

bool JsonWriter::Field(const JsonField& field, std::span<const WireField> values, int depth) {
  bool first = true;
  if (!field.repeated) return Value(field, values.back(), depth, &first);  // The last one counts.
  out_ += '[';
  for (const WireField& value : values) {
    const bool packed =
        value.type == WireType::kBytes && WireTypeOf(field.kind) != WireType::kBytes;
    if (!(packed ? Packed(field, value.bytes, &first) : Value(field, value, depth, &first))) {
      return false;
    }
  }
  out_ += ']';
  return true;
}

bool JsonWriter::Value(const JsonField& field, const WireField& value, int depth, bool* first) {
  if (value.type != WireTypeOf(field.kind)) return false;
  Comma(first);
  switch (field.kind) {
    case JsonKind::kMessage: return Message(*field.message, value.bytes, depth + 1);
    case JsonKind::kText: AppendJsonString(value.bytes, &out_); return true;
    case JsonKind::kBase64:
      AppendAll(&out_, "\"", absl::Base64Escape(AbslView(value.bytes)), "\"");
      return true;
    case JsonKind::kHex:
      AppendAll(&out_, "\"", absl::BytesToHexString(AbslView(value.bytes)), "\"");
      return true;
    default: AppendScalar(field.kind, value.value, &out_); return true;
  }
}

bool JsonWriter::Packed(const JsonField& field, std::string_view bytes, bool* first) {
  WireReader reader(bytes);
  while (!reader.done()) {
    uint64_t value = 0;
    const bool read = WireTypeOf(field.kind) == WireType::kFixed64 ? reader.Fixed<uint64_t>(&value)
                                                                   : reader.Varint(&value);
    if (!read) return false;
    Comma(first);
    AppendScalar(field.kind, value, &out_);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> OtlpJson(std::string_view request) {
  JsonWriter writer;
  if (!writer.Message(kProfilesDataJson, request, 0)) {
    return absl::DataLossError("OTLP JSON: the batch is damaged");
  }
  return std::move(writer).TakeText();
}

}  // namespace stackray
