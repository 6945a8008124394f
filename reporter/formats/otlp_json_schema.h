// The OTLP profile messages as tables: which field number has which JSON name and kind.
#ifndef STACKRAY_REPORTER_FORMATS_OTLP_JSON_SCHEMA_H_
#define STACKRAY_REPORTER_FORMATS_OTLP_JSON_SCHEMA_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace stackray {

enum class JsonKind : uint8_t {
  kMessage,
  kText,
  kBase64,
  kHex,
  kBool,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFixed64,
  kDouble
};

struct JsonMessage;

struct JsonField {
  uint32_t number;
  std::string_view name;
  JsonKind kind;
  bool repeated = false;
  const JsonMessage* message = nullptr;  // kMessage only.
};

// Fields in ascending order of their numbers.
struct JsonMessage {
  std::span<const JsonField> fields;
};

// ExportProfilesServiceRequest (= ProfilesData) of the wire in use since v1.10.
extern const JsonMessage kProfilesDataJson;

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_OTLP_JSON_SCHEMA_H_
