// Makes two batches of one, for a receiver that refuses its size.
#ifndef STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_
#define STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_

#include <vector>

#include "reporter/batch.h"

namespace stackray {

// Two valid batches, each complete alone, that together hold every sample of `batch` exactly once:
// the samples are cut in the middle, resource by resource, and each half keeps of the dictionary
// what it uses. Equal input gives equal output. Empty when there is only one sample, or the bytes
// are damaged. Memory: for the call, a few times the size of the batch.
std::vector<SealedBatchPtr> SplitBatch(const SealedBatch& batch);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_SPLIT_BATCH_H_
