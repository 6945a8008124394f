// The YAML configuration: one flat mapping from the setting table's keys to scalars (lists: also
// sequences of scalars). Keys of any verb may stand in it, so that one file serves all verbs.
// Several receivers at once stand in one list, each a mapping of its own settings:
//
//   receivers:
//     - endpoint: http://collector:4317
//     - name: backup
//       endpoint: https://backup:4318
//       protocol: http/protobuf
//
// So do captures (capture_list.h), and reports (report_list.h).
// Input: written by the operator, yet bounded (1 MiB) and refused rather than guessed at.
#ifndef STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_
#define STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/given_setting.h"

namespace stackray {

struct GivenReceiver {
  std::string origin;                  // "stackray.yaml:3", for messages.
  std::string name;                    // Empty: not given.
  std::vector<GivenSetting> settings;  // With an endpoint; each row has a receiver_field.
};

struct ConfigFile {
  std::vector<GivenSetting> settings;  // In the file's order.
  std::vector<GivenReceiver> receivers;
  std::vector<CaptureEntry> captures;
  ReportSettings reports;
};

inline constexpr size_t kMaxReceivers = 16;

// Settings in the file's order. `name` is the file's name for messages.
// Errors: InvalidArgument naming NAME:LINE — not YAML, more than one document, no mapping, an
// unknown key (with the nearest right one), a key given twice, a nested, missing or empty value, a
// receiver without an endpoint.
absl::StatusOr<ConfigFile> ParseConfigText(std::string_view text, const std::string& name);

// Errors: NotFound or InvalidArgument (cannot be read, larger than 1 MiB), else as above.
absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_CONFIG_FILE_H_
