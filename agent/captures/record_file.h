// NAME.json in the captures' directory.
// Input: a file that anybody who owns the directory may have put there.
#ifndef STACKRAY_AGENT_CAPTURES_RECORD_FILE_H_
#define STACKRAY_AGENT_CAPTURES_RECORD_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/captures/capture_record.h"

namespace stackray {

inline constexpr std::string_view kRecordEnding = ".json", kBatchesEnding = ".otlp";

// The capture whose file this is: "web" of "web.json"; nullopt: of none.
std::optional<std::string> CaptureOfFile(std::string_view file_name, std::string_view ending);
// Of a record that was being written when the agent died: ".web.json".
bool IsRecordInTheMaking(std::string_view file_name);

// Errors: InvalidArgument (it is no record of that capture), FailedPrecondition (no regular file,
// or larger than 256 KiB), Unavailable.
absl::StatusOr<CaptureRecord> ReadRecordFile(int directory, const std::string& name);
// Replaces the old one at once or not at all. Errors: Unavailable.
absl::Status WriteRecordFile(int directory, const CaptureRecord& record);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_RECORD_FILE_H_
