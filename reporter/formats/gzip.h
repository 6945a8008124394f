// gzip in memory. Equal input gives equal output: no name and no time in the header.
#ifndef STACKRAY_REPORTER_FORMATS_GZIP_H_
#define STACKRAY_REPORTER_FORMATS_GZIP_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stackray {

// Errors: ResourceExhausted when zlib has no memory.
absl::StatusOr<std::string> GzipCompress(std::string_view bytes, int level = 6);

// Errors: DataLoss (no gzip, damaged or cut), ResourceExhausted (longer than `max_bytes`).
absl::StatusOr<std::string> GzipExpand(std::string_view bytes, size_t max_bytes);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_GZIP_H_
