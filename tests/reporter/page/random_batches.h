// Batches of many processes, threads and stacks, equal at every run, and parts of them.
#ifndef STACKRAY_TESTS_REPORTER_PAGE_RANDOM_BATCHES_H_
#define STACKRAY_TESTS_REPORTER_PAGE_RANDOM_BATCHES_H_

#include <functional>
#include <string>
#include <vector>

#include "reporter/page/page_answer.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_store.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {

inline constexpr int64_t kRandomStartMs = 1'790'000'000'000;
inline constexpr int kRandomBatches = 12;  // Of 1 s each.

// Each sample has a time in the middle of a second. `number`: of the batch.
DecodedBatch RandomBatch(int number);

// Only samples for which `keep` says so of their process's attributes, thread and time.
using KeepSample = std::function<bool(const DecodedResource&, const DecodedSample&)>;
DecodedBatch Part(const DecodedBatch& batch, const KeepSample& keep);

// A store with an index for every `per_index` of the batches; it owns all of it.
PageStore StoreOf(const std::vector<DecodedBatch>& batches, size_t per_index);

// What the page would be answered, as JSON.
std::string AnswerTo(const PageStore& store, const std::string& words,
                     PageAnswerMemory* memory = nullptr);

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_PAGE_RANDOM_BATCHES_H_
