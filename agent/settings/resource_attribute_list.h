// OTEL_RESOURCE_ATTRIBUTES and what has its syntax: key1=value1,key2=value2, in which any byte may
// be percent-encoded and commas must be.
// Source: OpenTelemetry specification 1.44, "Resource SDK", "Specifying resource information via an
// environment variable"; W3C Baggage without metadata.
// Input:  from whoever started us; bounded, and refused as a whole when one part of it is wrong.
#ifndef STACKRAY_AGENT_SETTINGS_RESOURCE_ATTRIBUTE_LIST_H_
#define STACKRAY_AGENT_SETTINGS_RESOURCE_ATTRIBUTE_LIST_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr size_t kMaxResourceAttributes = 64;

// In the text's order; spaces around keys and values are dropped, empty parts (",,") ignored. Of a
// key given twice the last value holds. Errors: InvalidArgument: which part is wrong and why (no
// '=', no key, a bad %, no valid UTF-8, more than 64 attributes, more than 255 bytes a key, 1024 a
// value).
absl::StatusOr<ResourceAttributes> ParseResourceAttributes(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_RESOURCE_ATTRIBUTE_LIST_H_
