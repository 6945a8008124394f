// Sealed batches for the history's tests: small, valid ExportProfilesServiceRequests whose bytes
// tell their number, so that a test sees at once which one came back and whether it is whole.
#ifndef STACKRAY_TESTS_AGENT_HISTORY_FAKE_BATCH_H_
#define STACKRAY_TESTS_AGENT_HISTORY_FAKE_BATCH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/history/history.h"
#include "reporter/batch.h"

namespace stackray {

inline constexpr int64_t kFirstMs = 1'790'000'000'000;

// Starts at kFirstMs + 1000 * number and lasts one second; `filler_bytes` make it larger.
SealedBatchPtr FakeBatch(uint64_t number, size_t filler_bytes = 100);

// The number of a batch made by FakeBatch(); -1 when a single byte differs.
int64_t NumberOf(std::string_view bytes);

// All that overlap the range, as numbers.
std::vector<int64_t> NumbersIn(History& history, int64_t from_ms = 0, int64_t to_ms = INT64_MAX);

// A fresh directory under the test's temporary one.
std::string FreshDirectory();

// Of STATE_DIR/history, the lock file left out: names with ".otlp", sorted.
std::vector<std::string> SegmentNames(const std::string& state_dir);
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_HISTORY_FAKE_BATCH_H_
