// Copies of a sealed batch that hold what a reader of a file asked for. The batch itself is as
// before.
//
// Input:   batches of any origin; nothing in them is trusted.
// Memory:  for the call, a few times the size of the batch.
// Threads: pure functions.
// Errors:  DataLoss (no batch, an index outside its table, text that is not UTF-8).
#ifndef STACKRAY_REPORTER_SELECTION_BATCH_SELECTION_H_
#define STACKRAY_REPORTER_SELECTION_BATCH_SELECTION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/formats/sample_grouping.h"

namespace stackray {

// A valid batch of the samples that are wanted, with the part of the dictionary that they need.
// Empty: none is wanted.
absl::StatusOr<std::string> SelectSamples(std::string_view bytes, const SampleFilter& filter);

// What frames of groups have as their type.
inline constexpr std::string_view kGroupFrameType = "group";

// Every stack has one more frame, its outermost: the sample's group. For readers on this host, not
// to be sent: entries of the dictionary may stand twice, or be in use no more.
absl::StatusOr<std::string> GroupSamples(std::string_view bytes, const SampleGrouping& grouping);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SELECTION_BATCH_SELECTION_H_
