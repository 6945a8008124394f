// A batch as text, one line a sample, with everything that a receiver learns about it. Two batches,
// or groups of them, say the same when their sorted lines are equal, however their tables are
// numbered.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_SAMPLE_LINES_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_SAMPLE_LINES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stackray {

// In the order of the batch. Reads the messages through the generated classes, field by field:
// resource, scope, types, period, times, values, timestamps, attributes, link, and each frame with
// its mapping. Errors: DataLoss (not protobuf, an index out of its table).
absl::StatusOr<std::vector<std::string>> SampleLines(std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_SAMPLE_LINES_H_
