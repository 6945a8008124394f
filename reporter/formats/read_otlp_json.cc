// The document is read value by value, straight into the wire of its messages: no tree of it is
// ever made, so nothing of it costs much more than its own bytes.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "reporter/formats/foreign_formats.h"
#include "reporter/formats/otlp_json_schema.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

constexpr size_t kMostDepth = 100, kMostSkippedDepth = 1000;

using Json = nlohmann::json;
using wire::Type;

// JSON names are lowerCamel; protobuf's own, with underscores, are taken as well.
const JsonField* FindField(const JsonMessage& message, std::string_view name) {
  std::string camel;
  for (size_t i = 0; i < name.size(); ++i)
    camel += name[i] == '_' && i + 1 < name.size()
                 ? absl::ascii_toupper(static_cast<unsigned char>(name[++i]))
                 : name[i];
  const auto found = std::ranges::find(message.fields, std::string_view(camel), &JsonField::name);
  return found == message.fields.end() ? nullptr : &*found;
}

template <typename Number>
std::optional<uint64_t> ParseAs(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) return std::bit_cast<uint64_t>(number);
  return static_cast<uint64_t>(number);
}

// A number of a field, as the wire has it, from text; numbers of 64 bits are text in protobuf's
// JSON.
std::optional<uint64_t> NumberOf(JsonKind kind, std::string_view text) {
  switch (kind) {
    case JsonKind::kInt32:
    case JsonKind::kInt64: return ParseAs<int64_t>(text);
    case JsonKind::kUint32:
    case JsonKind::kUint64:
    case JsonKind::kFixed64: return ParseAs<uint64_t>(text);
    case JsonKind::kDouble:
      if (text == "NaN") return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
      if (text == "Infinity" || text == "-Infinity")
        return std::bit_cast<uint64_t>(text[0] == '-' ? -std::numeric_limits<double>::infinity()
                                                      : std::numeric_limits<double>::infinity());
      return ParseAs<double>(text);
    default: return std::nullopt;
  }
}

class OtlpJsonReader {
 public:
  // What nlohmann's parser calls; false ends the reading.
  bool null() {
    return Scalar([](const JsonField&) { return true; });
  }
  bool boolean(bool value) {
    return Scalar([&](const JsonField& field) {
      return field.kind == JsonKind::kBool && Number(field, value ? 1 : 0);
    });
  }
  bool number_integer(int64_t value) { return Integer(static_cast<uint64_t>(value), value < 0); }
  bool number_unsigned(uint64_t value) { return Integer(value, false); }
  bool number_float(double value, const std::string& /*text*/) {
    return Scalar([&](const JsonField& field) {
      if (field.kind == JsonKind::kDouble) return Number(field, std::bit_cast<uint64_t>(value));
      if (value != std::trunc(value) || std::fabs(value) >= 9.2e18) return false;
      return IsNumber(field) && Number(field, static_cast<uint64_t>(static_cast<int64_t>(value)));
    });
  }
  bool string(std::string& text) {
    return Scalar([&](const JsonField& field) { return Text(field, text); });
  }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return Begin(false); }
  bool start_array(size_t /*size*/) { return Begin(true); }
  bool key(std::string& name) {
    if (skipped_ == 0) open_.back().field = FindField(*open_.back().message, name);
    return true;
  }
  bool end_array() { return EndSkipped() || EndArray(); }
  bool end_object() { return EndSkipped() || EndMessage(); }
  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception&) {
    damaged_at_ = position;
    return false;
  }

  bool has_profiles() const { return has_profiles_; }
  size_t damaged_at() const { return damaged_at_; }
  std::string TakeBatch() && { return std::move(batch_); }

 private:
  struct Open {  // A message that has begun.
    const JsonMessage* message;
    const JsonField* field = nullptr;  // Of its last key; nullptr: one that is not known.
    bool in_array = false;             // Of this field.
    std::string wire = {};
    std::string packed = {};  // Numbers of this array.
  };

  static bool IsNumber(const JsonField& field) {
    switch (field.kind) {
      case JsonKind::kInt32:
      case JsonKind::kUint32:
      case JsonKind::kInt64:
      case JsonKind::kUint64:
      case JsonKind::kFixed64:
      case JsonKind::kDouble: return true;
      default: return false;
    }
  }

  // Containers of fields that are not known are read past.
  bool Begin(bool array) {
    if (skipped_ > 0) return ++skipped_ <= kMostSkippedDepth;
    if (open_.empty()) {
      if (!array) open_.push_back({&kProfilesDataJson});
      return !array;
    }
    Open& top = open_.back();
    if (top.field == nullptr) return ++skipped_ > 0;
    if (array) {
      if (!top.field->repeated || top.in_array) return false;
      return top.in_array = true;
    }
    const JsonField& field = *top.field;
    if (field.kind != JsonKind::kMessage || field.repeated != top.in_array) return false;
    if (open_.size() >= kMostDepth) return false;
    open_.push_back({field.message});
    return true;
  }

  bool EndSkipped() {
    if (skipped_ == 0) return false;
    --skipped_;
    return true;
  }

  bool EndArray() {
    Open& top = open_.back();
    if (!top.packed.empty())
      wire::AppendBytes(static_cast<int>(top.field->number), top.packed, &top.wire);
    top.packed.clear();
    top.in_array = false;
    return true;
  }

  bool EndMessage() {
    const std::string ended = std::move(open_.back().wire);
    open_.pop_back();
    if (open_.empty()) {
      batch_ = ended;
      return true;
    }
    Open& top = open_.back();
    if (open_.size() == 1 && top.field->number == 1) has_resource_ = true;
    if (open_.size() == 1 && top.field->number == 2) has_dictionary_ = true;
    has_profiles_ = has_resource_ && has_dictionary_;
    wire::AppendBytes(static_cast<int>(top.field->number), ended, &top.wire);
    return true;
  }

  template <typename F>
  bool Scalar(F&& take) {
    if (skipped_ > 0) return true;
    if (open_.empty()) return false;
    const Open& top = open_.back();
    if (top.field == nullptr) return true;
    return take(*top.field);
  }

  bool Integer(uint64_t value, bool negative) {
    return Scalar([&](const JsonField& field) {
      if (field.kind == JsonKind::kDouble) {
        const double number = negative ? static_cast<double>(static_cast<int64_t>(value))
                                       : static_cast<double>(value);
        return Number(field, std::bit_cast<uint64_t>(number));
      }
      return IsNumber(field) && Number(field, value);
    });
  }

  bool Text(const JsonField& field, const std::string& text) {
    std::string bytes;
    switch (field.kind) {
      case JsonKind::kText: return Bytes(field, text);
      case JsonKind::kHex:
        if (text.size() % 2 != 0 ||
            !std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isxdigit(c); }))
          return false;
        return Bytes(field, absl::HexStringToBytes(text));
      case JsonKind::kBase64:
        return (absl::Base64Unescape(text, &bytes) || absl::WebSafeBase64Unescape(text, &bytes)) &&
               Bytes(field, bytes);
      default: {
        const std::optional<uint64_t> number = NumberOf(field.kind, text);
        return number && Number(field, *number);
      }
    }
  }

  bool Bytes(const JsonField& field, std::string_view bytes) {
    Open& top = open_.back();
    if (field.repeated != top.in_array) return false;
    wire::AppendBytes(static_cast<int>(field.number), bytes, &top.wire);
    return true;
  }

  // All repeated numbers are packed.
  bool Number(const JsonField& field, uint64_t value) {
    Open& top = open_.back();
    if (field.repeated != top.in_array) return false;
    const bool fixed = field.kind == JsonKind::kFixed64 || field.kind == JsonKind::kDouble;
    std::string& out = top.in_array ? top.packed : top.wire;
    if (!top.in_array)
      wire::AppendTag(static_cast<int>(field.number), fixed ? Type::kFixed64 : Type::kVarint, &out);
    if (fixed)
      wire::AppendFixed64(value, &out);
    else
      wire::AppendVarint(value, &out);
    return true;
  }

  std::vector<Open> open_;  // Outermost first.
  size_t skipped_ = 0;      // Open containers that are read past.
  bool has_resource_ = false, has_dictionary_ = false, has_profiles_ = false;
  size_t damaged_at_ = 0;  // 0: it is JSON, and no OTLP document.
  std::string batch_;
};

}  // namespace

absl::StatusOr<std::string> BatchOfOtlpJson(std::string_view document) {
  OtlpJsonReader reader;
  if (!Json::sax_parse(document.begin(), document.end(), &reader))
    return absl::DataLossError(reader.damaged_at() == 0
                                   ? "it is no OTLP document"
                                   : "it is no OTLP document: no JSON behind byte " +
                                         std::to_string(reader.damaged_at()));
  if (!reader.has_profiles()) return absl::DataLossError("the JSON holds no OTLP profiles");
  return std::move(reader).TakeBatch();
}

}  // namespace stackray
