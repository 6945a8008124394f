// For tests: a batch as plain structures, decoded by the generated message classes and so by other
// code than BatchWalk's; and back to bytes.
#ifndef STACKRAY_TESTS_REPORTER_DECODED_BATCH_H_
#define STACKRAY_TESTS_REPORTER_DECODED_BATCH_H_

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "profile/marker.h"
#include "reporter/formats/batch_walk.h"

namespace stackray {

struct DecodedLine {
  std::string function;  // Function.name, or system_name where it has no name.
  std::string system_name;
  std::string file;
  int64_t line = 0, column = 0;
};

struct DecodedFrame {
  std::string type;          // profile.frame.type: "native", "kernel", "abort-marker", …
  std::string mapping_path;  // Empty: no mapping.
  std::string build_id;      // GNU's, else Go's, else htlhash.
  uint64_t address = 0;
  std::vector<DecodedLine> lines;          // Innermost inline first; empty: no name.
  std::optional<uint64_t> function_start;  // ELF address where its function begins.
  MarkerKind marker = MarkerKind::kNone;
  std::string marker_reason;  // As the batch says it.
};

struct DecodedResource {
  std::vector<std::pair<std::string, std::string>> attributes;  // Values as text.
  std::string Find(std::string_view key) const;                 // Empty when absent.
};

struct DecodedSample {
  int32_t resource = 0;         // Index into DecodedBatch::resources.
  std::vector<int32_t> frames;  // Indices into DecodedBatch::frames, leaf first.
  int64_t count = 0;
  double period_ns = 0;                     // Of its profile, if that is a cpu profile.
  std::vector<int64_t> timestamps_unix_ns;  // Empty when aggregated.
  int64_t tid = 0;
  std::string thread_name;
  int64_t cpu = -1;
};

struct DecodedBatch {
  int64_t start_unix_ns = 0, duration_ns = 0;  // Of all profiles together.
  double period_ns = 0;                        // Of the first cpu profile; 0: none.
  std::vector<DecodedResource> resources;
  std::vector<DecodedFrame> frames;  // frames[i] is location_table[i]; 0 is the empty one.
  std::vector<DecodedSample> samples;
};

// Input:  any bytes. Errors: DataLoss (not protobuf, an index out of its table, or entries that are
// shared so often that their copies would take more than 256 MiB).
absl::StatusOr<DecodedBatch> DecodeBatch(std::string_view bytes);

// The bytes of a batch written down by hand: one profile of on-CPU samples for each run of samples
// of one resource. Frames and resources that are not there are left out.
std::string EncodeBatch(const DecodedBatch& batch);

// The value of `key`; empty when absent. Lives as long as `resource`.
std::string_view FindAttribute(const DecodedResource& resource, std::string_view key);

// Adds the batch to whatever takes a BatchWalk.
template <typename Sums>
void AddTo(Sums* sums, const DecodedBatch& batch) {
  const std::string bytes = EncodeBatch(batch);
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  if (!walk.ok()) std::abort();  // What EncodeBatch() writes is a batch.
  sums->Add(*walk);
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_DECODED_BATCH_H_
