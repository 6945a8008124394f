// The page inside a report.
// Input:   an archive of this agent or of another; what is no page of ours is refused.
// Memory:  the page, kMostPageBytes at most. Threads: plain functions.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_
#define STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stackray {

inline constexpr size_t kMostPageBytes = 256 << 20;

// Does the text have the element that holds a page's data?
bool IsOurPage(std::string_view html);

// The page of now, or of the minutes before where that is missing. Errors: NotFound (no archive, or
// no page inside), DataLoss.
absl::StatusOr<std::string> PageOfReport(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_PAGE_H_
