// `captures` of the configuration, and the files of captures-dir:
//
//   captures:
//     - name: web
//       target: {command: nginx}    # or targets: a list; any of them
//       rate: 499
//       types: [cpu, off-cpu]
//       for: 5m                     # or until: 2026-11-26T18:05:00Z
//       hosts: [web-*]
//       send: true
//
// A target is one of pid, cgroup, container, command, user, service and "host: true".
// Input: written by an operator or a tool of his, yet refused rather than guessed at.
// Errors: InvalidArgument naming NAME:LINE.
#ifndef STACKRAY_AGENT_SETTINGS_CAPTURE_LIST_H_
#define STACKRAY_AGENT_SETTINGS_CAPTURE_LIST_H_

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr size_t kMostCaptureEntries = 64;  // Of one list.

// Of a list in an opened document; throws what yaml-cpp throws.
absl::StatusOr<std::vector<CaptureEntry>> ReadCaptureList(const YAML::Node& list,
                                                          const std::string& name);

// Of a whole file: the list alone, or a mapping with `captures` and nothing else; YAML, so JSON
// too. An empty file is an empty list. `name` is the file's, for messages.
absl::StatusOr<std::vector<CaptureEntry>> ParseCaptureFile(std::string_view text,
                                                           const std::string& name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_CAPTURE_LIST_H_
