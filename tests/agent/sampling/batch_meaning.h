// What a batch says, as text that does not depend on how it says it.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_BATCH_MEANING_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_BATCH_MEANING_H_

#include <string>
#include <string_view>
#include <vector>

namespace stackray::test {

// One line a sample, sorted: process, frames with names, mappings and addresses, thread, count or
// times. Empty when the bytes are no batch.
std::vector<std::string> MeaningOf(std::string_view batch);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_BATCH_MEANING_H_
