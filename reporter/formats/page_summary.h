// What both of the page's documents, its data (page_data.h) and its answers (reporter/page/), say
// of a summary.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_SUMMARY_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_SUMMARY_H_

#include <cstdint>
#include <string>

#include "reporter/formats/profile_summary.h"

namespace stackray {

// A count as a browser's whole number: 0 to 2^53 - 1.
int64_t SafeInteger(int64_t number);

// Appends the members of a JSON object, without its braces, from "samples" to "lost".
void AppendSummaryMembers(const ProfileSummary& summary, std::string* json);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_SUMMARY_H_
