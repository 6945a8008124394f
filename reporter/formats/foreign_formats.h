// Profiles in other formats, as batches: pprof, folded stacks, OTLP's JSON.
//
// Input:   any bytes. Errors: DataLoss (no such format, damaged), ResourceExhausted (a pprof file
//          whose tables need more than kSmallTables and twice the file, or one field more than
//          kMostPprofField); the sink's, with which the reading ends.
// Memory:  of folded stacks and pprof one batch of some MiB (foreign_batch.h), however long the
//          file is when it is expanded, and pprof's tables; of JSON twice its text.
// Threads: plain functions.
#ifndef STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_
#define STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stackray {

inline constexpr size_t kSmallTables = 12 << 20, kMostPprofField = 4 << 20;
inline constexpr uint64_t kMostPprofExpanded = uint64_t{1} << 30;  // Bounds the time, not memory.

// Takes the next batch, which is lent for the call.
using ForeignBatchSink = absl::FunctionRef<absl::Status(std::string_view batch)>;

// Lines `frame;…;frame COUNT`, root first. Frames that end in `_[k]` are the kernel's. Lines that
// are none are left out, unless no line is one.
absl::Status BatchesOfFolded(std::string_view text, std::string_view name, ForeignBatchSink sink);
// pprof's profile.proto, compressed by gzip or not. It is read twice: its tables, then its samples.
absl::Status BatchesOfPprof(std::string_view bytes, std::string_view name, ForeignBatchSink sink);
// One document, as OtlpJson() writes it.
absl::StatusOr<std::string> BatchOfOtlpJson(std::string_view document);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_FOREIGN_FORMATS_H_
