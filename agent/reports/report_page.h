// The page inside a report, or in a file: its data, in this release's own page.
//
// Input:   any file. What is around the data is never used: page_block.h.
// Memory:  the data (compressed), and the page around them. Threads: plain functions.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_
#define STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace stackray {

inline constexpr size_t kMostPageBytes = 256 << 20;

// Of a file that is a page. Errors: NotFound (no such file), PermissionDenied, InvalidArgument (no
// page of stackray), DataLoss, ResourceExhausted (over kMostPageBytes, or expands to too much).
absl::StatusOr<std::string> PageOfPageFile(const std::string& path);

// The page of now, or of the minutes before where that is missing. Errors: NotFound (no archive, or
// no page inside), DataLoss, ResourceExhausted: data longer than twice the archive and 16 MiB, or
// as above.
absl::StatusOr<std::string> PageOfReport(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_
