// The list of request headers in OTEL_EXPORTER_OTLP_HEADERS.
#ifndef STACKRAY_REPORTER_EXPORT_RECEIVER_HEADERS_H_
#define STACKRAY_REPORTER_EXPORT_RECEIVER_HEADERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/export/receiver_settings.h"

namespace stackray {

// "name=value,name=value", values percent-encoded where needed (W3C Baggage without properties).
// Names come back in lower case, as gRPC wants them. Errors: InvalidArgument, which tells an entry
// by its position and never repeats a value, for values are secrets.
absl::StatusOr<HeaderList> ParseHeaders(std::string_view text);

// Replaces each word of four bytes and more of a header's value by "***": a receiver's answer may
// repeat what it was sent, and answers are logged.
void HideHeaderValues(const HeaderList& headers, std::string& text);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RECEIVER_HEADERS_H_
