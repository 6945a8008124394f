// Which functions a text means: part of a name or file without regard to case, or /an expression/.
// Input:   any valid UTF-8. An expression takes time in proportion to the names, whatever it is
//          (RE2), and at most 1 MiB.
// Threads: pure functions. Errors: InvalidArgument: why the expression is none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_SEARCH_H_
#define STACKRAY_REPORTER_PAGE_PAGE_SEARCH_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/page/page_tables.h"

namespace stackray {

// By function; empty: nothing is looked for.
absl::StatusOr<std::vector<bool>> MatchingFunctions(const PageTables& tables,
                                                    std::string_view query);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_SEARCH_H_
