// The resource attributes that formats read.
#ifndef STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_
#define STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_

#include <string_view>

namespace stackray {

inline constexpr std::string_view kProcessPid = "process.pid";
inline constexpr std::string_view kProcessCommand = "process.command";
inline constexpr std::string_view kProcessExecutablePath = "process.executable.path";
inline constexpr std::string_view kProcessExecutableName = "process.executable.name";
inline constexpr std::string_view kProcessCreationTime = "process.creation.time";
inline constexpr std::string_view kContainerId = "container.id";
inline constexpr std::string_view kCgroup = "process.linux.cgroup";
inline constexpr std::string_view kUserName = "process.user.name";
inline constexpr std::string_view kServiceName = "service.name";
inline constexpr std::string_view kHostName = "host.name";

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_RESOURCE_KEYS_H_
