// Reads a report's archive: a tar archive, compressed by zstd.
//
// Input:   any file. A zstd frame that wants a window of more than 8 MiB, and an archive that
//          expands to more than kMostExpandedBytes, are refused.
// Memory:  some 9 MiB, whatever the entries hold; ReadArchive() also an entry. Threads: plain
// functions.
#ifndef STACKRAY_AGENT_REPORTS_ARCHIVE_READER_H_
#define STACKRAY_AGENT_REPORTS_ARCHIVE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace stackray {

inline constexpr uint64_t kMostExpandedBytes = uint64_t{8} << 30;

// Asks `wanted` for each entry by its name, and hands the content of those that are to `part`, in
// order; an empty part ends each. Errors: `part`'s, with which the reading ends; NotFound,
// PermissionDenied, DataLoss (no such archive), ResourceExhausted (it expands to too much).
absl::Status ReadArchiveParts(const std::string& path,
                              absl::FunctionRef<bool(std::string_view name)> wanted,
                              absl::FunctionRef<absl::Status(std::string_view bytes)> part);

// Calls `visit` with the name and the content of each entry up to `most_bytes` of one, until it
// returns false. Errors: as above.
absl::Status ReadArchive(
    const std::string& path, size_t most_bytes,
    const std::function<bool(std::string_view name, std::string&& bytes)>& visit);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_ARCHIVE_READER_H_
