// A sealed batch as OTLP's JSON: one document on one line, as the Collector's file exporter writes
// them.
//
// Rules (OTLP specification, "JSON Protobuf Encoding"): lowerCamelCase names, 64-bit integers as
// strings, enums as numbers, trace, span and profile ids in hex, other bytes in base64; fields that
// are not on the wire are left out. Fields that this wire version does not know are left out too.
#ifndef STACKRAY_REPORTER_FORMATS_OTLP_JSON_H_
#define STACKRAY_REPORTER_FORMATS_OTLP_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stackray {

// The document without a line end. `request` is an ExportProfilesServiceRequest of any origin.
// Errors: DataLoss (damaged, or nested deeper than 100 messages). Memory: a few times the input.
absl::StatusOr<std::string> OtlpJson(std::string_view request);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_OTLP_JSON_H_
