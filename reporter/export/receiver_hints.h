// What to look at when a receiver or the link to it fails, for the end of a message.
#ifndef STACKRAY_REPORTER_EXPORT_RECEIVER_HINTS_H_
#define STACKRAY_REPORTER_EXPORT_RECEIVER_HINTS_H_

#include <string>
#include <string_view>

#include "reporter/export/receiver_settings.h"

namespace stackray {

inline constexpr std::string_view kCredentialsHint =
    " (the receiver does not accept the credentials: check OTEL_EXPORTER_OTLP_HEADERS and the "
    "client "
    "certificate; batches wait and are tried again every few minutes)";

// What failed before an answer came, by the text of gRPC's core or libcurl.
std::string LinkHint(const ReceiverSettings& settings, std::string_view text);

// True of an HTML page, which no OTLP receiver sends.
bool IsHtml(std::string_view content_type, std::string_view body);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RECEIVER_HINTS_H_
