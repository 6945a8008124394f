// One index of several: classes that are equal become one, so that a question of hours reads one
// tree where it would read many. Threads keep their values and times, without their trees.
//
// Memory:  the result and its classes' parts, kMostGroupBytes at most, beside the indexes.
// Threads: pure functions.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_GROUP_H_
#define STACKRAY_REPORTER_PAGE_PAGE_GROUP_H_

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_tables.h"

namespace stackray {

inline constexpr size_t kMostGroupBytes = size_t{24} << 20;

// `indexes`: opened with `tables`, in the order of time, none of them cut or merged.
// Errors: FailedPrecondition (they have different periods, or more types of frames than masks have
// bits), ResourceExhausted (it would be longer than kMostGroupBytes), Cancelled.
absl::StatusOr<std::string> MergeIndexes(const std::vector<PageIndex::Ptr>& indexes,
                                         const PageTables& tables, const std::stop_token& stop);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_GROUP_H_
