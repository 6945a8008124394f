// `reports` of the configuration:
//
//   reports:
//     max-bytes: 256MiB
//     triggers:
//       - kind: memory-pressure
//         above: 20%
//         window: 10s
//         cgroup: /sys/fs/cgroup/shop.slice
//       - kind: timer
//         every: 6h
//         jitter: 10m
//     collectors:
//       - name: heap
//         exec: [jcmd, "{pid}", GC.heap_info]
//         command: java
//
// Input: written by an operator, yet refused rather than guessed at.
// Errors: InvalidArgument naming NAME:LINE.
#ifndef STACKRAY_AGENT_SETTINGS_REPORT_LIST_H_
#define STACKRAY_AGENT_SETTINGS_REPORT_LIST_H_

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr size_t kMostReportTriggers = 32, kMostCollectors = 16;

// The kinds of triggers that there are, in the order of docs/reports.md.
inline constexpr std::string_view kReportTriggerKinds[] = {
    "memory-pressure", "cpu-pressure", "io-pressure", "memory-events", "oom",
    "timer",           "file",         "signal",      "budget"};

// Of a mapping in an opened document; throws what yaml-cpp throws.
absl::StatusOr<ReportSettings> ReadReportSettings(const YAML::Node& node, const std::string& name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_REPORT_LIST_H_
