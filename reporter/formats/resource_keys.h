// The resource attributes that formats read.
#ifndef STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_
#define STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_

#include <string_view>

#include "reporter/decoded_batch.h"

namespace stackray {

inline constexpr std::string_view kProcessPid = "process.pid";
inline constexpr std::string_view kProcessCommand = "process.command";
inline constexpr std::string_view kProcessExecutablePath = "process.executable.path";
inline constexpr std::string_view kProcessExecutableName = "process.executable.name";
inline constexpr std::string_view kProcessCreationTime = "process.creation.time";
inline constexpr std::string_view kContainerId = "container.id";
inline constexpr std::string_view kHostName = "host.name";

// The value of `key`; empty when absent. Lives as long as `resource`.
inline std::string_view FindAttribute(const DecodedResource& resource, std::string_view key) {
  for (const auto& [name, value] : resource.attributes) {
    if (name == key) return value;
  }
  return {};
}

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_
