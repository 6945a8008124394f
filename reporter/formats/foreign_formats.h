// Profiles in other formats, as batches: pprof, folded stacks, OTLP's JSON.
//
// Input:   any bytes. Errors: DataLoss (no such format, damaged), ResourceExhausted (a pprof file
//          that is longer than 1 GiB when it is expanded).
// Memory:  some times the input. Threads: plain functions.
#ifndef STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_
#define STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stackray {

// Lines `frame;…;frame COUNT`, root first. Frames that end in `_[k]` are the kernel's. Lines that
// are none are left out, unless no line is one.
absl::StatusOr<std::string> BatchOfFolded(std::string_view text, std::string_view name);
// pprof's profile.proto, compressed by gzip or not.
absl::StatusOr<std::string> BatchOfPprof(std::string_view bytes, std::string_view name);
// One document, as OtlpJson() writes it.
absl::StatusOr<std::string> BatchOfOtlpJson(std::string_view document);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_
