// What a process's environment says about the service that it belongs to: OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES, and nothing else of it is kept.
//
// Input:   the environment as the program was started with it; any bytes, at most 128 KiB are
//          looked at.
// Facts:   OpenTelemetry's specification 1.5x, "Resource SDK" and "SDK environment variables".
#ifndef STACKRAY_KERNEL_SERVICE_ENVIRONMENT_H_
#define STACKRAY_KERNEL_SERVICE_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "profile/process.h"

namespace stackray {

struct ServiceEnvironment {
  std::string service_name;  // OTEL_SERVICE_NAME, else service.name of the attributes.
  std::vector<std::pair<std::string, std::string>> attributes;  // The others, in their order.
};

// `bytes`: NAME=VALUE strings, each with a NUL. Values are percent-decoded. A list of attributes
// with a mistake in it is left out as a whole, as the specification says; at most 64 are taken.
ServiceEnvironment ParseServiceEnvironment(std::string_view bytes);

// Of a living process, out of /proc. Errors: NotFound (gone, or another process under that pid by
// now), Unavailable (in the midst of exec(), which has not laid out its environment yet: ask
// again).
absl::StatusOr<ServiceEnvironment> ReadServiceEnvironment(const ProcessId& id);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_SERVICE_ENVIRONMENT_H_
