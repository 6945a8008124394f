// Certificates and keys in PEM files.
#ifndef STACKRAY_REPORTER_EXPORT_TLS_FILES_H_
#define STACKRAY_REPORTER_EXPORT_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace stackray {

// The file's bytes, at most 1 MiB. `what` is its purpose, for the message: "CA certificate".
// Errors: NotFound, PermissionDenied or another code of errno's; InvalidArgument (not PEM, too
// large).
absl::StatusOr<std::string> ReadPemFile(const std::string& path, const std::string& what);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_TLS_FILES_H_
