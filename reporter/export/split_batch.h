// Makes smaller batches of profiles of one, for a receiver that refuses its size or its rate.
#ifndef STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_
#define STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_

#include <cstddef>
#include <vector>

#include "reporter/export/payload.h"

namespace stackray {

// All give valid batches, each complete alone, that together hold every sample of `batch` exactly
// once; each keeps of the dictionary what it uses. Equal input gives equal output. Empty when there
// is nothing to split, or the bytes are damaged. Memory: for the call, a few times the size of the
// batch.

// Two: the samples are cut in the middle, resource by resource.
std::vector<Payload> SplitBatch(const Payload& batch);

// At most kMaxPieces, cut between profiles: of `profiles_each` profiles each or, where those would
// be too many, of a multiple. A profile is one process's samples of one type.
inline constexpr size_t kMaxPieces = 32;
std::vector<Payload> SplitByProfile(const Payload& batch, size_t profiles_each);

// 0 where the bytes are damaged. Looks at lengths alone.
size_t ProfilesIn(const Payload& batch);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_
